import type { FastifyCorsOptions } from '@fastify/cors'
import type { WireWords } from './wire.ts'

/** What a route of the interface sets in its configuration: browser clients call it directly, from anywhere. */
export const openToBrowsers = { origin: '*' }

/** Closed, but for routes that say otherwise, and there open for the headers that the interface documents. */
export const corsOptions = (wire: WireWords): FastifyCorsOptions => ({
  origin: false,
  methods: ['GET', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: ['content-type', wire.apiKeyHeader, wire.codeHeader, 'idempotency-key'],
  maxAge: 86_400,
  preflight: true,
  strictPreflight: false,
})
