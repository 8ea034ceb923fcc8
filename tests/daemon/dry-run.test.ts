import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EndpointKey, endpoints } from '../../src/daemon/contract/index.ts'
import { splitKey } from '../../src/daemon/http/bind.ts'
import { changesSomething, dryRunPrefix } from '../../src/values/repeating.ts'
import { leftOut, openWorld, type WritingRequest } from '../support/writing-requests.ts'

let world: Awaited<ReturnType<typeof openWorld>>
beforeAll(async () => {
  world = await openWorld({}, 500)
}, 120_000)
afterAll(() => world.close())

const send = async (key: EndpointKey, { url, body, payload, headers = {} }: WritingRequest, prefix = '') => {
  const { method } = splitKey(key)
  const answer = await world.app.inject({
    ...{ method: method as 'POST', url: prefix + url, headers },
    ...((body ?? payload) && { payload: body ?? payload }),
  })
  return { status: answer.statusCode, text: answer.body }
}

/** What the daemon writes by itself while requests are made. */
const ofItself = ['leases', 'settings', 'senders', 'transactions', 'transactionAttempts', 'names']

async function contents(): Promise<Record<string, string>> {
  const { read } = world.ctx.db
  const tables = await read.introspection.getTables()
  const held: Record<string, string> = {}
  for (const { name } of tables) {
    if (ofItself.includes(name) || name.startsWith('taps_')) continue
    const rows = await read
      .selectFrom(name as 'teams')
      .selectAll()
      .execute()
    // Last uses of credentials are stored later.
    const lines = rows.map((row) => JSON.stringify({ ...row, lastUsedAt: null, lastUsedFrom: null })).sort()
    held[name] = createHash('sha256').update(lines.join('\n')).digest('hex')
  }
  return held
}

const transactions = async () =>
  (await world.ctx.db.read.selectFrom('transactions').select('id').execute()).length

// Before others change what the contracts ask for.
test('a page, its form, and what is no endpoint have no dry run, and use nothing up', async () => {
  const { pages } = world
  for (const [name, { method, prepare }] of Object.entries(pages)) {
    const { payload, ...request } = await prepare()
    const { url } = request
    const sent = (prefix = '') =>
      world.app.inject({ ...request, method, url: prefix + url, ...(payload && { payload }) })
    await world.settled()
    const before = await contents()
    expect([name, (await sent(dryRunPrefix)).statusCode]).toEqual([name, 404])
    expect([name, await contents()]).toEqual([name, before])
    const done = await sent()
    expect([name, done.statusCode < 400 ? 'done' : done.statusCode, done.body]).toEqual([
      name,
      'done',
      done.body,
    ])
  }
  for (const url of ['/healthz', '/metrics', '/openapi.json', '/t', '/dry-run/admin/teams'])
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode } = await world.app.inject({ method, url: dryRunPrefix + url })
      expect([method, url, statusCode]).toEqual([method, url, 404])
    }
})

describe('each request that changes something', () => {
  const keys = (Object.keys(endpoints) as EndpointKey[]).filter(
    (key) => changesSomething(key) && !key.startsWith('GET ') && leftOut[key] === undefined,
  )
  // Its transactions wait for ever.
  const last: EndpointKey = 'POST /admin/transactions/:id/cancel'
  test.each([...keys.filter((key) => key !== last), last])(
    '%s has a dry run that changes nothing, and then succeeds',
    async (key) => {
      const make = world.requests[key]
      if (!make) throw new Error(`tests/support/writing-requests.ts has none for ${key}`)
      // What earlier transactions bring about shows in other tables.
      await world.settled()
      const request = await make()
      const before = [await contents(), await transactions()]
      const tried = await send(key, request, dryRunPrefix)
      expect(tried).toEqual({
        status: 200,
        text: expect.stringMatching(/^\{"dryRun":true,"checked":"(all|input)"\}$/),
      })
      expect([await contents(), await transactions()]).toEqual(before)
      const { status, text } = await send(key, request)
      expect([status < 300 ? 'done' : status, text]).toEqual(['done', text])
    },
  )
})

describe('a dry run', () => {
  const tryOut = async (key: EndpointKey, url: string, body?: object, headers: object = world.admin) =>
    send(key, { url, ...(body && { body }), headers: { ...headers } }, dryRunPrefix)
  const codeOf = ({ text }: { text: string }) => JSON.parse(text).code

  test('is refused as the request itself would be', async () => {
    const link = await tryOut('POST /admin/links', '/admin/links', {
      ...{ team: 'Acme', name: 'Bad', url: 'javascript:alert(1)' },
    })
    expect([link.status, codeOf(link)]).toEqual([400, 'invalid_input'])
    const unknown = await tryOut('DELETE /admin/teams/:id', '/admin/teams/4711')
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'not_found'])
    const stranger = await tryOut('DELETE /admin/teams/:id', '/admin/teams/1', undefined, {})
    expect([stranger.status, codeOf(stranger)]).toEqual([401, 'admin_token_missing'])
    const twice = await tryOut('POST /admin/teams', '/admin/teams', { name: 'Acme' })
    expect([twice.status, codeOf(twice)]).toEqual([409, 'already_exists'])
  })

  test('of a read, and of a path that is none, is none', async () => {
    const read = await world.app.inject({ url: `${dryRunPrefix}/admin/teams`, headers: world.admin })
    expect([read.statusCode, read.json().code]).toEqual([400, 'invalid_input'])
    const none = await world.app.inject({ method: 'POST', url: `${dryRunPrefix}/nothing` })
    expect([none.statusCode, none.json().message]).toEqual([404, expect.stringContaining('at this path')])
  })

  test('of a request that was interrupted wakes nothing', async () => {
    const key: EndpointKey = 'POST /phygitals/transfer'
    const { headers, ...request } = (await world.requests[key]?.()) ?? { url: '' }
    const again = { ...request, headers: { ...headers, 'idempotency-key': 'interrupted' } }
    const { text } = await send(key, again)
    await world.ctx.db.write((trx) =>
      trx.updateTable('idempotencyKeys').set({ answer: null }).where('key', '=', 'interrupted').execute(),
    )
    const broadcasted = vi.spyOn(world.ctx.chains.relayer, 'broadcasted')
    expect((await send(key, again, dryRunPrefix)).status).toBe(200)
    expect(broadcasted).not.toHaveBeenCalled()
    expect(await send(key, again)).toEqual({ status: 200, text })
    expect(broadcasted).toHaveBeenCalledOnce()
    broadcasted.mockRestore()
  })

  test('does not end what others write beside it', async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        const body = { name: `Beside ${n}` }
        const prefix = n % 2 === 0 ? dryRunPrefix : ''
        return send('POST /admin/teams', { url: '/admin/teams', body, headers: world.admin }, prefix)
      }),
    )
    expect(made.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const teams = await world.ctx.db.read.selectFrom('teams').select('name').execute()
    const beside = teams.flatMap(({ name }) => (name.startsWith('Beside') ? name : []))
    expect(beside.sort()).toEqual([1, 3, 5, 7, 9].map((n) => `Beside ${n}`))
  })
})
