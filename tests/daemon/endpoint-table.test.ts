import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventForm } from '../support/badges.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { hostileRequest, table } from '../support/hostile-requests.ts'
import { png } from '../support/poap/image-bytes.ts'
import { acmeKey, derived, otherKey, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// Walks the endpoint table, so that an endpoint to come is covered on the day that it is added.

const forTeams = table.filter(({ spec }) => spec.auth === 'api-key')

const batchId = 'b_1hq3v9k7s2m4xa'
let t: TestApp
/** A batch of the first team for each request that is about one, in a state in which its own key may make it. */
const batchesOf: Record<string, object> = {
  ...Object.fromEntries(
    ['show', 'remove', 'rows', 'plan', 'start', 'cancel', 'follow', 'report'].map((step) => [
      step,
      { note: step },
    ]),
  ),
  approve: { state: 'proposed', isProposed: 1, startedById: 'key 0' },
  pause: { state: 'running' },
  resume: { state: 'paused' },
  undo: { state: 'done' },
  files: { state: 'uploading' },
}
const ownBatches = new Map<string, string>()
const ofBatch =
  (step: string, more: object = {}) =>
  () => ({
    params: { id: ownBatches.get(step) ?? '' },
    ...more,
  })
let badgeForm: Awaited<ReturnType<typeof eventForm>>
beforeAll(async () => {
  badgeForm = await eventForm()
  t = await openTestApp({ seed, chain: true })
  // The batches below stay as they are.
  await t.ctx.batches.stop()
  const headers = { 'x-svc-api-key': acmeKey }
  const row = JSON.stringify({ row: 1, uid: uids.blank, redirectUrl: null })
  for (const [key, stored] of Object.entries(batchesOf)) {
    const kind = key === 'files' ? 'badge-events create' : 'chips edit'
    const payload = { kind, total: 1, rowsHash: '0'.repeat(64) }
    const made = await t.app.inject({ method: 'POST', url: '/batches', headers, payload })
    const { id } = made.json().batch
    ownBatches.set(key, id)
    const rows = { headers: { ...headers, 'content-type': 'application/x-ndjson' }, payload: row }
    if (key !== 'rows' && key !== 'files')
      await t.app.inject({ method: 'POST', url: `/batches/${id}/rows?from=0`, ...rows })
    await t.ctx.db.write((trx) => trx.updateTable('batches').set(stored).where('id', '=', id).execute())
  }
})
afterAll(() => t.close())

/** All that a team could lose, as text. What is read about taps is not the team's to change. */
const state = async (): Promise<string> => {
  const { read } = t.ctx.db
  // What the second team has sent is its own to pay for.
  const first = await read.selectFrom('teams').selectAll().where('name', '=', 'Acme').execute()
  const names = await read.selectFrom('teams').select(['id', 'name']).orderBy('id').execute()
  const tables = [
    'apiKeys',
    'contracts',
    'tokens',
    'items',
    'chipGroups',
    'chips',
    'links',
    'guestbookEvents',
    'guestbookAssignments',
    'badgeEvents',
    'badgeAssignments',
    'spentCodes',
    'batches',
    'batchPieces',
    'batchFiles',
  ] as const
  const rows = await Promise.all(tables.map((name) => read.selectFrom(name).selectAll().execute()))
  // With the refs that were queried and the codes that they gave. Refused ones are stored later.
  const taps = await read.selectFrom('taps').selectAll().where('outcome', '=', 'valid').execute()
  const text = (row: unknown) =>
    JSON.stringify(row, (name, value) => {
      // Last uses of credentials are stored later.
      if (name.startsWith('lastUsed')) return null
      return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
    })
  return JSON.stringify([first, names, taps, ...rows].map((table) => table.map(text).sort()))
}

/** A state without the rows that an earlier one lacks. */
const withoutNew = (state: string, before: string): string[][] => {
  const was: string[][] = JSON.parse(before)
  const is: string[][] = JSON.parse(state)
  return is.map((rows, index) => rows.filter((row) => was[index]?.includes(row)))
}

/** What is recorded for the chain is on it: a contract that becomes confirmed is no change by a request. */
const settled = async (): Promise<void> => {
  const { chains, db } = t.ctx
  const open = await db.read.selectFrom('transactions').select('id').where('settledAt', 'is', null).execute()
  await Promise.all(open.map(({ id }) => chains.relayer.settled(id)))
}

const recipient = '0x52908400098527886e0f7030069857d2e4169ee7'
const jacketToken = (contractAddress: string) => ({ contractAddress, chainId: 31337, tokenId: '1' })
const jacketMetadata = JSON.stringify({
  name: 'Jacket #1',
  collection: 'Jackets',
  description: '',
  image: '',
  attributes: [],
  media_gallery: [],
})

describe("another team's key", () => {
  /** Requests for what belongs to the first team, endpoint by endpoint. A new endpoint must be given its own here. */
  const foreign: Record<
    string,
    (acme: { code: string; address: string }) => {
      params?: Record<string, string>
      query?: string
      body?: unknown
      form?: typeof badgeForm
      list?: true
      /** Gives the caller something of its own: then the first team's is what it was. */
      makes?: true
    }
  > = {
    'GET /chips': () => ({ query: '?name=Jackets' }),
    'PATCH /chips': () => ({
      body: { tagUIDs: [uids.jacket], updates: { redirectUrl: 'https://evil.example/' } },
    }),
    'POST /chips/batch': () => ({
      body: { uid: uids.jacket, redirectUrl: 'https://evil.example/' },
      list: true,
    }),
    'DELETE /otps/:id': ({ code }) => ({ params: { id: code } }),
    'GET /items': ({ address }) => ({ query: `?contractAddress=${address}&chainId=31337`, list: true }),
    'GET /items/:itemId': () => ({ params: { itemId: 'jacket' } }),
    'GET /items/:itemId/chips': () => ({ params: { itemId: 'jacket' } }),
    'GET /chip-groups': () => ({ list: true }),
    'GET /team': () => ({ list: true }),
    'POST /phygitals/transfer': ({ address }) => ({ body: { ...jacketToken(address), recipient } }),
    'POST /phygitals/transfer/self-service': () => ({ body: { tagUID: uids.jacket, recipient } }),
    'GET /phygitals/transfer-signature': ({ address }) => ({
      query: `?contractAddress=${address}&chainId=31337&tokenId=1&recipient=${recipient}`,
    }),
    'POST /phygitals/claim-registration': ({ address }) => ({
      body: { ...jacketToken(address), recipient },
    }),
    'DELETE /phygitals/claim-registration': ({ address }) => ({
      body: { ...jacketToken(address), recipient },
    }),
    'POST /phygitals/transfer/check': ({ address }) => ({
      body: { ...jacketToken(address), recipient },
      list: true,
    }),
    'POST /phygitals/transfer/batch': ({ address }) => ({
      body: { ...jacketToken(address), recipient },
      list: true,
    }),
    'POST /phygitals/metadata/batch': ({ address }) => ({
      body: { ...jacketToken(address), metadata: JSON.parse(jacketMetadata) },
      list: true,
    }),
    'PATCH /phygitals/metadata': ({ address }) => ({
      body: { ...jacketToken(address), metadata: jacketMetadata },
    }),
    'POST /events/contracts': () => ({
      body: { name: 'Mine', symbol: 'MINE', chainId: 31337 },
      makes: true,
    }),
    'GET /events/contracts': () => ({ list: true }),
    // The second contract and the first event of the seed.
    'POST /events': () => ({
      body: { name: 'Mine', tokenId: '50', contractId: 2, metadata: jacketMetadata },
    }),
    'GET /events': () => ({ query: '?contractId=2', list: true }),
    'PATCH /events/metadata': () => ({ body: { eventId: 1, metadata: jacketMetadata } }),
    'POST /events/mint': () => ({ body: { eventId: 1, recipient } }),
    'POST /events/assign/legacy': () => ({ body: { tagUIDs: [uids.blank], guestbookEventId: 1 } }),
    'POST /badge-events': () => ({ form: badgeForm, makes: true }),
    // The first event of the seed.
    'POST /badge-events/assign': () => ({ body: { poapEventId: 1, tagUID: uids.blank } }),
    'POST /badge-events/assign/undo': () => ({
      body: { batch: batchId, assignments: [{ tagUID: uids.events, poapEventId: 1 }] },
      list: true,
    }),
    'GET /batches': () => ({ list: true }),
    'POST /batches': () => ({
      body: { team: 'Acme', kind: 'chips edit', total: 1, rowsHash: '0'.repeat(64) },
    }),
    'GET /batches/:id': ofBatch('show'),
    'DELETE /batches/:id': ofBatch('remove'),
    'POST /batches/:id/rows': ofBatch('rows', {
      query: '?from=0',
      body: { row: 1, uid: uids.blank, redirectUrl: null },
    }),
    'POST /batches/:id/files/:hash': () => ({
      params: { id: ownBatches.get('files') ?? '', hash: createHash('sha256').update(png()).digest('hex') },
      form: { headers: { 'content-type': 'image/png' }, payload: Buffer.from(new Uint8Array(png())) },
    }),
    'POST /batches/:id/plan': ofBatch('plan'),
    'POST /batches/:id/start': ofBatch('start'),
    'POST /batches/:id/approve': ofBatch('approve'),
    'POST /batches/:id/pause': ofBatch('pause'),
    'POST /batches/:id/resume': ofBatch('resume', { body: {} }),
    'POST /batches/:id/cancel': ofBatch('cancel'),
    'POST /batches/:id/undo': ofBatch('undo', { body: {} }),
    'GET /batches/:id/follow': ofBatch('follow'),
    'GET /batches/:id/report': ofBatch('report'),
    'POST /events/toggle-pause-state': () => ({ body: { contractId: 2, pauseState: true } }),
  }

  test.each(forTeams)(
    '$key sees nothing of the first team, and changes nothing',
    async ({ key, method, path, spec }) => {
      const tapped = await t.app.inject({
        url: tapPath(tap(derived, { uid: uids.jacket }, nextCounter()), '/chips/find'),
      })
      const { otp, linkedToken } = tapped.json()
      const build = foreign[key]
      if (!build) throw new Error(`Say in this test how ${key} asks for what belongs to another team`)
      const {
        params = {},
        query = '',
        body,
        form,
        list,
        makes,
      } = build({ code: otp.code, address: linkedToken.contractAddress })
      await settled()
      const before = await state()
      const url = path.replace(/:(\w+)/g, (_all, name: string) => params[name] ?? '') + query
      const call = (apiKey: string) =>
        t.app.inject({
          method,
          url,
          headers: {
            'x-svc-api-key': apiKey,
            ...form?.headers,
            ...(body ? { 'content-type': spec.stream?.contentTypes[0] ?? 'application/json' } : {}),
          },
          ...(body ? { payload: JSON.stringify(body) } : {}),
          ...(form ? { payload: form.payload } : {}),
        })
      const answer = await call(otherKey)
      if (makes) expect(answer.statusCode).toBe(200)
      else if (list) {
        expect(answer.statusCode).toBe(200)
        expect(answer.body).not.toContain('"changed"')
        expect(answer.body).not.toMatch(/"Jackets"|"jacket"|"Guests"|"Opening"/)
      } else {
        expect({ status: answer.statusCode, code: answer.json().code }).toEqual({
          status: 404,
          code: 'not_found',
        })
      }
      if (makes) expect(withoutNew(await state(), before)).toEqual(JSON.parse(before))
      else expect(await state()).toBe(before)
      // The same request with the first team's key is no 404: the refusal was about whose it is.
      expect((await call(acmeKey)).statusCode).toBe(200)
    },
  )

  let counter = 100
  const nextCounter = () => ++counter
})

describe('without a key, or with one that is not good', () => {
  test.each(table.filter(({ spec }) => spec.auth !== 'none'))(
    '$key is a 401 that says what to send',
    async ({ method, path, spec }) => {
      const url = path.replace(/:\w+/g, '1')
      const header = spec.auth === 'admin' ? 'authorization' : 'x-svc-api-key'
      for (const headers of [{}, { [header]: spec.auth === 'admin' ? 'Bearer adm_wrong' : 'svc_wrong' }]) {
        const answer = await t.app.inject({ method, url, headers })
        expect(answer.statusCode).toBe(401)
        expect(answer.json().message.length).toBeGreaterThan(20)
      }
    },
  )

  test.each(table.filter(({ spec }) => spec.auth === 'admin'))(
    'an API key is no admin token: $key',
    async ({ method, path }) => {
      const url = path.replace(/:\w+/g, '1')
      const headers = { authorization: `Bearer ${acmeKey}`, 'x-svc-api-key': acmeKey }
      expect((await t.app.inject({ method, url, headers })).statusCode).toBe(401)
    },
  )
})

describe('whatever is sent', () => {
  // Streams that never end, and what removes the ground under the test's own feet.
  const walked = table.filter(
    ({ key }) => !['GET /admin/taps/follow', 'GET /admin/events/follow', 'POST /admin/backup'].includes(key),
  )

  test.each(walked)('$key never answers with a 5xx', async (target) => {
    const requests = hostileRequest(target, { known: { segment: Object.values(uids) } })
    await fc.assert(
      fc.asyncProperty(requests, fc.boolean(), async ({ headers, ...request }, withKey) => {
        const answer = await t.app.inject({
          ...request,
          headers: { ...t.admin, ...(withKey ? { 'x-svc-api-key': otherKey } : {}), ...headers },
        })
        if (answer.statusCode >= 500) throw new Error(`${answer.statusCode}: ${answer.body}`)
        if (answer.statusCode >= 400) {
          const error = answer.json()
          expect(error).toMatchObject({
            statusCode: answer.statusCode,
            code: expect.any(String),
            message: expect.any(String),
            requestId: expect.any(String),
          })
        }
      }),
      { numRuns: 60 },
    )
  })

  test('the character U+0000, which not every database keeps, is a 400 wherever text goes', async () => {
    const key = { 'x-svc-api-key': acmeKey }
    const send = async (url: string, type?: string, payload?: string, method: 'POST' | 'GET' = 'POST') => {
      const headers = { ...t.admin, ...key, ...(type === undefined ? {} : { 'content-type': type }) }
      const { statusCode, body } = await t.app.inject({
        method,
        url,
        headers,
        ...(payload ? { payload } : {}),
      })
      return statusCode === 200 ? statusCode : [statusCode, body.includes('invalid_input')]
    }
    const item = '{"team":"Acme","id":"nul","name":"Nul","description":"a\\u0000b"}'
    for (const refused of [
      send('/items/%00', undefined, undefined, 'GET'),
      send('/items?name=a%00b', undefined, undefined, 'GET'),
      send('/admin/items', 'application/json', item),
      send('/admin/items', 'application/json', item.replace('a\\', 'a\\\\\\')),
    ])
      expect(await refused).toEqual([400, true])
    // Text that only looks like the escape is taken.
    expect(await send('/admin/items', 'application/json', item.replace('\\u', '\\\\u'))).toBe(200)
  })
})
