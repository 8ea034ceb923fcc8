import type { FastifyCorsOptions } from '@fastify/cors'
import type { WireWords } from './wire.ts'

/** Open to every origin for the headers that the interface documents: browser clients call it directly. */
export const corsOptions = (wire: WireWords): FastifyCorsOptions => ({
  origin: '*',
  methods: ['GET', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: ['content-type', wire.apiKeyHeader, wire.codeHeader, 'idempotency-key'],
  exposedHeaders: ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  maxAge: 86_400,
  preflight: true,
  strictPreflight: false,
})
