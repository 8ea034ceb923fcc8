import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { EndpointSpec } from '../src/daemon/contract/endpoint.ts'
import { endpoints } from '../src/daemon/contract/index.ts'
import { splitKey } from '../src/daemon/http/bind.ts'
import { scopes } from '../src/values/scopes.ts'

interface Row {
  readonly scope: string
  readonly isForAllTeams: boolean
  /** `GET /admin/taps`; without a method: all but GET. */
  readonly requests: readonly string[]
}

const page = readFileSync(new URL('../docs/daemon.md', import.meta.url), 'utf8')
const table = page.slice(page.indexOf('| To do this |')).split('\n\n')[0] ?? ''
const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
const rows: Row[] = table
  .split('\n')
  .slice(2)
  .map((line) => {
    const [, , need, requests] = line.split('|')
    return {
      scope: quoted(need)[0] ?? '',
      isForAllTeams: need?.includes('for all teams') ?? false,
      requests: quoted(requests),
    }
  })

/** How specific a pattern of the table is for a request; undefined if it is for others. */
function fit(pattern: string, method: string, path: string): number | undefined {
  const [prefix = '', only] = pattern.split(' ').reverse()
  const isMethod = only === undefined ? method !== 'GET' : only === method
  const isBelow = prefix === '/' || path === prefix || path.startsWith(`${prefix}/`)
  return isMethod && isBelow ? prefix.length * 2 + (only === undefined ? 0 : 1) : undefined
}

const keyed = Object.entries<EndpointSpec>(endpoints).filter(
  ([, { auth }]) => auth === 'api-key' || auth === 'admin',
)

test('the table of who may do what has every scope, and every request that it names exists', () => {
  const named = rows.map(({ scope }) => scope)
  for (const scope of scopes) expect(named).toContain(scope)
  for (const pattern of rows.flatMap(({ requests }) => requests))
    expect([pattern, keyed.some(([key]) => fits(pattern, key))]).toEqual([pattern, true])
})

const fits = (pattern: string, key: string): boolean => {
  const { method, path } = splitKey(key)
  return fit(pattern, String(method), path) !== undefined
}

test.each(keyed)(
  '%s needs what the table of who may do what says',
  (key, { scope, isForAllTeams = false }) => {
    const { method, path } = splitKey(key)
    const found = rows
      .flatMap((row) =>
        row.requests.map((pattern) => ({ row, by: fit(pattern, String(method), path) ?? -1 })),
      )
      .sort((a, b) => b.by - a.by)[0]
    expect({ scope: found?.row.scope, isForAllTeams: found?.row.isForAllTeams }).toEqual({
      scope,
      isForAllTeams,
    })
  },
)
