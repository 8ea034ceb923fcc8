import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import { afterEach, expect } from 'vitest'
import type { EndpointSpec } from '../../src/daemon/contract/endpoint.ts'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { refusalsOf } from '../../src/daemon/http/openapi/refusals.ts'

// Every daemon that runs in a test's own process: an answer with an error code that the OpenAPI document does not list
// for its endpoint fails the test.

const seen = new Set<string>()

const table = new Map(
  Object.entries<EndpointSpec>(endpoints)
    .filter(([, { part }]) => part !== 'admin')
    .map(([key, spec]) => [key, new Set<string>(refusalsOf(key, spec))]),
)

/** Its code, of an answer with an error. */
const codeIn = (payload: unknown): string | undefined =>
  typeof payload === 'string' ? /"code":"(\w+)"/.exec(payload)?.[1] : undefined

// Workers run many files with one copy of the modules, and this file once for each.
const mark = Symbol.for('tapchip.documentedRefusals')
if (!(mark in globalThis)) {
  Object.assign(globalThis, { [mark]: seen })
  subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onSend', async ({ method, routeOptions }, { statusCode }, payload) => {
      const key = `${method} ${routeOptions.url}`
      const code = statusCode < 400 || statusCode === 500 ? undefined : codeIn(payload)
      if (code !== undefined && table.get(key)?.has(code) === false) seen.add(`${key}: ${code}`)
    })
  })
}
const undocumented = (globalThis as unknown as Record<symbol, Set<string>>)[mark] ?? seen

afterEach(() => {
  const found = [...undocumented]
  undocumented.clear()
  expect(found, 'add them to src/daemon/http/openapi/refusals.ts').toEqual([])
})
