import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointKey } from '../../src/daemon/contract/index.ts'
import { planReset } from '../../src/nfc/provision/plan.ts'
import { scopes } from '../../src/values/scopes.ts'
import { table } from '../support/hostile-requests.ts'
import { chipUid } from '../support/phygitals.ts'
import { derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { openWorld, type WritingRequest } from '../support/writing-requests.ts'

// Walks what is under /admin with credentials for one team, so that an endpoint to come is covered on the day that it
// is added: it has to say here how it is asked for another team's things.

const underAdmin = table.filter(({ spec }) => spec.auth === 'admin')
/** What concerns the daemon, or all of its teams. */
const ofDaemon = underAdmin.filter(({ spec }) => spec.isForAllTeams).map(({ key }) => key)
const chip = chipUid(1)
const spare = chipUid(10_000)
const decimal = (hex: string) => BigInt(`0x${hex}`).toString()

let world: Awaited<ReturnType<typeof openWorld>>
/** Headers of a credential. */
type Headers = Record<string, string>
let stranger: Record<string, Headers>
const made: Record<string, number | string> = {}
/** The words by which a thing of the first team can be told. */
let words: RegExp

const call = async (key: string, { url, body, payload, headers = {} }: WritingRequest, by: Headers) => {
  const { authorization: _, 'x-svc-api-key': __, ...others } = headers
  const answer = await world.app.inject({
    ...{ method: key.split(' ')[0] as 'POST', url, headers: { ...others, ...by } },
    ...((body ?? payload) && { payload: body ?? payload }),
  })
  return { status: answer.statusCode, text: answer.body }
}
const root = async (key: string, body: object = {}) => {
  const [method, url = ''] = key.split(' ')
  const { text, status } = await call(key, { url, ...(method === 'GET' ? {} : { body }) }, world.admin)
  if (status >= 300) throw new Error(`${key}: ${text}`)
  return JSON.parse(text)
}
const keyOf = async (team: string, name: string, scopes: readonly string[]): Promise<Headers> => {
  const { key } = await root('POST /admin/api-keys', { team, name, scopes })
  return { 'x-svc-api-key': key }
}
const credentialsOf = async (team: string): Promise<Record<string, Headers>> => {
  const { token } = await root('POST /admin/admin-tokens', { name: `${team} token`, scopes: ['all'], team })
  return { key: await keyOf(team, 'operator', ['all']), token: { authorization: `Bearer ${token}` } }
}

beforeAll(async () => {
  world = await openWorld({}, 500)
  await world.ctx.batches.stop()
  await root('POST /admin/teams', { name: 'Stranger' })
  stranger = await credentialsOf('Stranger')
  credentials.Acme = credentialsOf('Acme')
  const own = await credentials.Acme
  const acme = (at: string, body: object) => root(`POST ${at}`, { team: 'Acme', ...body })
  const rowsHash = '0'.repeat(64)
  const batch = { kind: 'chips edit', name: 'acme-spring', note: 'Acme note', total: 1, rowsHash }
  made.batch = (await acme('/admin/batches', batch)).batch.id
  made.files = (
    await acme('/admin/batches', { ...batch, kind: 'badge-events create', name: 'acme-files' })
  ).batch.id
  made.webhook = (await acme('/admin/webhooks', { url: 'https://hook.acme.example/secret' })).id
  made.delivery = (await root(`POST /admin/webhooks/${made.webhook}/test`)).id
  made.sheet = (
    await acme('/admin/nfc/sheets', { id: 'acme', keySet: 201, chipGroup: 'Jackets', rows: 3 })
  ).run
  const session = { purpose: 'recover', station: 'acme-table' }
  made.session = JSON.parse(
    (await call('POST', { url: '/admin/nfc/sessions', body: session }, own.key ?? {})).text,
  ).id
  const { read } = world.ctx.db
  await world.app.inject({ url: tapPath(tap(derived, { uid: chip }, 1)) })
  await world.app.inject({ url: tapPath(tap(derived, { uid: chip }, 1)) })
  await world.requests['POST /admin/badge-events/:id/approve']?.()
  made.badges = (await root('GET /admin/badge-events'))[0].id
  const first = async (name: 'contracts' | 'transactions') =>
    (await read.selectFrom(name).select('id').orderBy('id').executeTakeFirst())?.id ?? 0
  made.team = (await root('GET /admin/teams')).find((team: { name: string }) => team.name === 'Acme').id
  made.contract = await first('contracts')
  made.transaction = await first('transactions')
  const uids = await read.selectFrom('chips').select('uid').execute()
  const hex = [chip, spare]
  const numbers = [decimal(chip), decimal(spare), ...uids.slice(0, 5).map(({ uid }) => uid)]
  words = new RegExp(
    `Acme|acme|Jackets|Spare|Visitors|Guests|Opening|JKT|Imported|"ops"|(Team|Group|Link|Badge|Item) \\d|${[...hex, ...numbers].join('|')}`,
  )
}, 120_000)
afterAll(() => world.close())

/** What the use of a credential, and a transaction that ends, change. */
const moving = new Set(['lastUsedAt', 'lastUsedFrom', 'status', 'problem', 'serviceUrl', 'urlTransactionId'])

/** All that others than the stranger have. Deliveries and transactions move by themselves. */
async function others(): Promise<string> {
  const { read } = world.ctx.db
  const team = await read.selectFrom('teams').select('id').where('name', '=', 'Stranger').executeTakeFirst()
  const held: string[] = []
  for (const { name, columns } of await read.introspection.getTables()) {
    if (
      /^(leases|settings|senders|audit|auditChips|auditHead|changes|names|transactions|transactionAttempts|webhookDeliveries|taps.*|tapMinutes|tapHours)$/.test(
        name,
      )
    )
      continue
    const rows = await read
      .selectFrom(name as 'apiKeys')
      .selectAll()
      .execute()
    const isTheirs = columns.some((column) => column.name === 'teamId')
    for (const row of rows) {
      const kept = Object.fromEntries(Object.entries(row).filter(([column]) => !moving.has(column)))
      if (!isTheirs || row.teamId !== team?.id) held.push(`${name} ${JSON.stringify(kept)}`)
    }
  }
  return held.sort().join('\n')
}

const steps = ['rows', 'files/:hash', 'plan', 'start', 'approve', 'pause', 'resume', 'cancel', 'undo']
const lines = { payload: '{"row":1,"uid":"1"}\n', headers: { 'content-type': 'application/x-ndjson' } }
const bodies: Record<string, Partial<WritingRequest>> = {
  rows: lines,
  'files/:hash': { payload: 'PNG', headers: { 'content-type': 'image/png' } },
  resume: { body: {} },
  undo: { body: {} },
}
const at = (id: string, rest = '') => ({ url: `${rest.replace(':', `${made[id] ?? ''}`)}` })
/** Beyond tests/support/writing-requests.ts: reads, and what that leaves out. */
const asked: Record<string, () => WritingRequest | Promise<WritingRequest>> = {
  'GET /admin/chips/:uid': () => ({ url: `/admin/chips/${decimal(chip)}` }),
  'GET /admin/chips/:uid/history': () => ({ url: `/admin/chips/${decimal(chip)}/history` }),
  'GET /admin/chips/:uid/notes': () => ({ url: `/admin/chips/${decimal(chip)}/notes` }),
  'GET /admin/badge-events/:id/claims': () => at('badges', '/admin/badge-events/:/claims'),
  'GET /admin/contracts/:id': () => at('contract', '/admin/contracts/:'),
  'GET /admin/transactions/:id': () => at('transaction', '/admin/transactions/:'),
  'GET /admin/nfc/sheets/:run': () => at('sheet', '/admin/nfc/sheets/:'),
  'DELETE /admin/nfc/journal/:uid': async () => {
    const uid = decimal(spare)
    const plan = JSON.stringify(planReset({ uid, from: ['factory'] }))
    const row = {
      uid,
      purpose: 'reset' as const,
      plan,
      openedAt: '2026-06-01T12:00:00.000Z',
      openedBy: 'key:ops',
    }
    const plans = () =>
      world.ctx.db.read.selectFrom('nfcPlans').where('closedAt', 'is', null).select('id').execute()
    if ((await plans()).length === 0)
      await world.ctx.db.write((trx) => trx.insertInto('nfcPlans').values(row).execute())
    return { url: `/admin/nfc/journal/${uid}` }
  },
  'POST /admin/nfc/sessions': () => ({
    url: '/admin/nfc/sessions',
    body: { team: 'Acme', purpose: 'provision', keySet: 201, chipGroup: 'Jackets', acceptUrl: true },
  }),
  'POST /admin/nfc/sessions/:id/answers': () => ({
    ...at('session', '/admin/nfc/sessions/:/answers'),
    body: { step: 1, answers: ['9000'] },
  }),
  'DELETE /admin/nfc/sessions/:id': () => at('session', '/admin/nfc/sessions/:'),
  'POST /admin/webhook-deliveries/:id/redeliver': () =>
    at('delivery', '/admin/webhook-deliveries/:/redeliver'),
  'PATCH /admin/teams/:id': () => ({ url: `/admin/teams/${made.team}`, body: { brand: { name: 'Anorak' } } }),
  'POST /admin/batches': () => ({
    url: '/admin/batches',
    body: { team: 'Acme', kind: 'chips edit', total: 1, rowsHash: '0'.repeat(64) },
  }),
  'DELETE /admin/batches/:id': () => at('batch', '/admin/batches/:'),
  'GET /admin/batches/:id': () => at('batch', '/admin/batches/:'),
  'GET /admin/batches/:id/follow': () => at('batch', '/admin/batches/:/follow'),
  'GET /admin/batches/:id/rows': () => at('batch', '/admin/batches/:/rows'),
  'GET /admin/batches/:id/report': () => at('batch', '/admin/batches/:/report'),
  ...Object.fromEntries(
    steps.map((step) => [
      `POST /admin/batches/:id/${step}`,
      () => {
        const id = made[step === 'files/:hash' ? 'files' : 'batch']
        const rest = `${step.replace(':hash', 'a'.repeat(64))}${step === 'rows' ? '?from=0' : ''}`
        return { url: `/admin/batches/${id}/${rest}`, ...bodies[step] }
      },
    ]),
  ),
}
const queries: Record<string, string> = {
  'GET /admin/taps/stats': '?by=group',
  'GET /admin/chips/export': '?',
}

async function requestOf(key: string): Promise<WritingRequest> {
  const [method, path = ''] = key.split(' ')
  if (ofDaemon.includes(key))
    return { url: path.replace(/:\w+/g, '1'), ...(method === 'GET' ? {} : { body: {} }) }
  const make = asked[key] ?? world.requests[key as EndpointKey]
  if (make) return make()
  if (method === 'GET' && !path.includes(':')) return { url: `${path}${queries[key] ?? ''}` }
  throw new Error(`Say in this test how ${key} is asked for what belongs to another team`)
}

/** What a stranger may do without naming the first team: it concerns its own, or nothing. */
const harmless: Record<string, number> = {
  'POST /admin/admin-tokens': 200,
  'POST /admin/chips/import/undo': 200,
}

/** Streams without an end, conversations, and steps of batches, which have an order: tests/daemon/batches. */
const unanswered = /taps\/follow|events\/follow|nfc\/sessions\/:id|admin\/batches|redeliver/

/** Credentials of the team that a request is about. */
async function holderOf(kind: string, { url, body }: WritingRequest): Promise<Headers> {
  const [, , at, named = ''] = url.split(/[/?]/)
  const id = /^\d+$/.test(named) ? Number(named) : undefined
  const { read } = world.ctx.db
  const teamId =
    at === 'webhooks' && id
      ? (await read.selectFrom('webhooks').select('teamId').where('id', '=', id).executeTakeFirst())?.teamId
      : at === 'links' && id
        ? (await read.selectFrom('links').select('teamId').where('id', '=', id).executeTakeFirst())?.teamId
        : at === 'teams'
          ? id
          : undefined
  const team = await read
    .selectFrom('teams')
    .select('name')
    .where('id', '=', teamId ?? 0)
    .executeTakeFirst()
  const owner = team?.name ?? (body && 'team' in body ? String(body.team) : 'Acme')
  credentials[owner] ??= credentialsOf(owner)
  return (await credentials[owner])[kind] ?? {}
}
const credentials: Record<string, Promise<Record<string, Headers>>> = {}

describe.each(['key', 'token'])('with the %s of another team', (kind) => {
  test.each(underAdmin)('$key tells and changes nothing of the first', async ({ key, method, spec }) => {
    const by = stranger[kind] ?? {}
    const isList = method === 'GET' && !key.includes(':')
    const request = await requestOf(key)
    const before = await others()
    // It never ends.
    if (key !== 'GET /admin/taps/follow' && key !== 'GET /admin/events/follow') {
      const { status, text } = await call(key, request, by)
      const expected = ofDaemon.includes(key) ? 403 : isList ? 200 : (harmless[key] ?? 404)
      expect({ status, text }).toEqual({ status: expected, text })
      // Whoever asks knows what it asked for.
      const told = text.replaceAll(request.url.split('/')[3] ?? '/', '').replace(/"dataDir":"[^"]*"/, '')
      // Its samples are about a made-up brand.
      if (key !== 'GET /admin/pages/preview') expect(told).not.toMatch(words)
      if (status === 404) expect(JSON.parse(text)).toMatchObject({ code: 'not_found' })
      if (status === 403) expect(text).toContain('for one team')
    }
    const fields = spec.query?.().shape ?? {}
    if ('team' in fields && !ofDaemon.includes(key)) {
      const url = new URL(request.url, 'http://daemon')
      url.searchParams.set('team', 'Acme')
      const named = await call(key, { ...request, url: `${url.pathname}${url.search}` }, by)
      expect(named).toMatchObject({ status: 404, text: expect.stringContaining('No such team') })
    }
    expect(await others()).toBe(before)
  })

  test.each(underAdmin.filter(({ key }) => !unanswered.test(key) && !ofDaemon.includes(key)))(
    '$key is answered to the team itself',
    async ({ key, method }) => {
      const request = await requestOf(key)
      const by = await holderOf(kind, request)
      const query = method === 'GET' && !key.includes(':') && key !== 'GET /admin/taps/explain' ? 'Acme' : ''
      const url = new URL(request.url, 'http://daemon')
      if (query && 'team' in (table.find((one) => one.key === key)?.spec.query?.().shape ?? {}))
        url.searchParams.set('team', query)
      const answer = await call(key, { ...request, url: `${url.pathname}${url.search}` }, by)
      expect(answer).toMatchObject({ status: 200 })
    },
  )

  test.each(underAdmin.filter(({ key }) => kind === 'key' && ofDaemon.includes(key)))(
    '$key is refused to a team in the same words, whatever its scopes',
    async ({ key, path, spec }) => {
      made.reader ??= (await keyOf('Acme', 'reader', ['read']))['x-svc-api-key'] ?? ''
      const by = { 'x-svc-api-key': `${made.reader}` }
      expect(await call(key, { url: path.replace(/:\w+/g, '1') }, by)).toMatchObject({
        status: 403,
        text: expect.stringContaining(`without a team, with the scope \\"${spec.scope}\\"`),
      })
    },
  )

  test.each(underAdmin.filter(({ key }) => !ofDaemon.includes(key)))(
    '$key without its scope is a 403 that names it',
    async ({ key, path, spec }) => {
      if (kind !== 'key') return
      if (spec.scope === 'read') return
      const scope = scopes.filter((one) => one !== 'all' && one !== spec.scope)
      const name = `without ${spec.scope}`
      made[name] ??= (await keyOf('Acme', name, scope))['x-svc-api-key'] ?? ''
      const answer = await call(
        key,
        { url: path.replace(/:\w+/g, '1') },
        { 'x-svc-api-key': `${made[name]}` },
      )
      expect(answer).toMatchObject({ status: 403, text: expect.stringContaining(`\\"${spec.scope}\\"`) })
    },
  )
})

test.each([
  ['/admin/chips/apply', { label: 'L' }],
  ['/admin/chips/apply', { redirectUrl: null, disabled: true }],
  ['/admin/chips/apply', { remove: 'always' }],
  ['/chips/batch', { redirectUrl: null }],
  ['/phygitals/transfer/check', { recipient: 'alice.eth' }],
  ['/phygitals/transfer/batch', { recipient: 'alice.eth' }],
])("at %s a row with another team's chip reads as one with a chip that nobody has", async (url, row) => {
  const told = async (uid: string) => {
    const payload = `${JSON.stringify({ uid, ...row })}\n`
    const request = { url, payload, headers: { 'content-type': 'application/x-ndjson' } }
    const { status, text } = await call('POST', request, stranger.key ?? {})
    const same = text.replaceAll(uid, 'UID').replaceAll(decimal(uid), 'UID')
    return { status, text: same.replaceAll(uid.match(/../g)?.join(':') ?? '', 'UID') }
  }
  const before = await others()
  const foreign = await told(chip)
  expect(foreign).toEqual(await told('04827F12647380'))
  expect(foreign.status).toBe(200)
  expect(await others()).toBe(before)
})

test('a chip that the first team removed tells nothing of before to a stranger who registers it', async () => {
  const [hex, by] = [chipUid(10_400), stranger.key ?? {}]
  const uid = decimal(hex)
  const row = (cells: object) => ({
    payload: `${JSON.stringify(cells)}\n`,
    headers: { 'content-type': 'application/x-ndjson' },
  })
  const as = async (who: Headers, key: string, request: WritingRequest) => {
    const { status, text } = await call(key, request, who)
    expect({ status, text }).toMatchObject({ status: 200 })
    return text
  }
  const labelled = row({ uid, label: 'Acme secret', redirectUrl: 'https://acme.example/before' })
  await as(world.admin, 'POST', { url: '/admin/chips/apply?team=Acme', ...labelled })
  await world.app.inject({ url: tapPath(tap(derived, { uid: hex }, 7)) })
  await as(world.admin, 'DELETE', { url: `/admin/chips/${uid}` })
  const imported = await as(by, 'POST', {
    url: '/admin/chips/import?chipGroup=Found&keySet=101',
    ...row({ uid }),
  })
  expect(imported).toContain('"created"')
  const told = []
  for (const url of [`chips/${uid}`, `chips/${uid}/history`, `taps?uid=${uid}`, `audit?uid=${uid}`])
    told.push(await as(by, 'GET', { url: `/admin/${url}` }))
  expect(told.join('\n')).not.toMatch(/acme|"tap"|chips\.(apply|remove)|admin:root/i)
  expect(JSON.parse(told[1] ?? '')).toMatchObject([{ kind: 'registration', by: 'key:operator' }])
  expect(JSON.parse(told[2] ?? '')).toEqual([])
})
