import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'

const metaReadKey = '0011223344556677aabbccddeeff0011'
const fileReadKey = '8899AABBCCDDEEFF0123456789ABCDEF'
const appMasterKey = 'f0e1d2c3b4a5968778695a4b3c2d1e0f'

let t: AdminApp
let lines: string[]
beforeEach(async () => {
  lines = []
  t = await openAdminApp({ log: (line) => lines.push(line) })
})
afterEach(() => t.close())

const create = (fields: object) =>
  t.call('POST /admin/key-sets', { id: 101, metaReadKey, fileReadKey, diversification: 'none', ...fields })

test('a key set of each derivation is created, listed and removed', async () => {
  const plain = await create({})
  expect(plain.body).toEqual({
    id: 101,
    diversification: 'none',
    systemIdentifier: '',
    template: '?d={keySet}&e={picc}&c={mac}',
    tamper: null,
    mode: 'aes',
    macInputFrom: null,
    parameters: { e: 'e', c: 'c', d: 'd' },
    canProvision: false,
    url: 'http://127.0.0.1:8484/t?d=101&e={picc}&c={mac}',
    chips: 0,
    createdAt: expect.any(String),
    warnings: [],
  })
  const derived = await create({
    id: 102,
    diversification: 'an10922',
    systemIdentifier: '4E5850',
    macInputFrom: 'e',
    parameters: { e: 'picc', c: 'mac' },
    appMasterKey,
  })
  expect(derived.body).toMatchObject({
    systemIdentifier: '4e5850',
    macInputFrom: 'e',
    parameters: { e: 'picc', c: 'mac', d: 'd' },
    template: '?d={keySet}&^picc={picc}&mac={mac}',
    canProvision: true,
  })
  const listed = await create({ id: 103, diversification: 'listed', fileReadKey: undefined })
  expect(listed).toMatchObject({ status: 200, body: { id: 103, canProvision: false } })
  const shown = [plain, derived, listed].map(({ body: { warnings: _, ...set } }) => set)
  expect((await t.call('GET /admin/key-sets')).body).toEqual(shown)

  expect((await t.call('DELETE /admin/key-sets/103')).status).toBe(200)
  expect((await t.call('DELETE /admin/key-sets/103')).status).toBe(404)
  expect(
    (await t.audit('action=key-sets')).map(({ action, target, actor }) => [actor, action, target]),
  ).toEqual([
    ['admin:root', 'key-sets.delete', '103'],
    ['admin:root', 'key-sets.create', '103'],
    ['admin:root', 'key-sets.create', '102'],
    ['admin:root', 'key-sets.create', '101'],
  ])
})

test('a key set is in force from its creation on, and no more from its removal on', async () => {
  const tap = `GET /chips/find?e=${'0'.repeat(32)}&c=${'0'.repeat(16)}&d=101`
  const outcomes = async () =>
    (await t.call('GET /admin/taps')).body.map(({ outcome }: { outcome: string }) => outcome)
  await t.call(tap)
  expect(await outcomes()).toEqual(['unknown-key-set'])
  await create({})
  await t.call(tap)
  expect(await outcomes()).toEqual(['unknown-chip', 'unknown-key-set'])
  await t.call('DELETE /admin/key-sets/101')
  await t.call(tap)
  expect(await outcomes()).toEqual(['unknown-key-set', 'unknown-chip', 'unknown-key-set'])
})

test('a key set with keys that everybody knows, or a status that anyone could change, is warned of', async () => {
  const zero = '0'.repeat(32)
  expect((await create({ metaReadKey: zero, fileReadKey: zero })).body.warnings).toEqual([
    expect.stringMatching(/^metaReadKey and fileReadKey are all zeros, .*anyone can make taps/),
  ])
  const open = await create({ id: 102, template: '?uid={uid}&ctr={ctr}&cmac={mac}&tamper={tt}' })
  expect(open.body.warnings).toEqual([expect.stringMatching(/^\{tt\} stands outside/)])
})

test('a key set with a template has it, and the short form where that says as much', async () => {
  const own = await create({ template: 'https://^t.example/424?uid={uid}&ctr={ctr}&c={mac}' })
  expect(own).toMatchObject({
    status: 200,
    body: { template: 'https://^t.example/424?uid={uid}&ctr={ctr}&c={mac}', tamper: null, parameters: null },
  })
  const data = await create({ id: 102, template: 'e={picc}^{enc}{mac}', tamper: 'enc:0', parameters: null })
  expect(data.body).toMatchObject({ template: '?e={picc}^{enc}{mac}', tamper: 'enc:0', parameters: null })
  const short = await create({ id: 103, template: '?^k={keySet}&e={picc}&c={mac}' })
  expect(short.body).toMatchObject({ macInputFrom: 'd', parameters: { e: 'e', c: 'c', d: 'k' } })
  const { template, parameters, macInputFrom } = short.body
  expect(await create({ id: 104, template, parameters, macInputFrom })).toMatchObject({ status: 200 })
})

const refused: [string, object][] = [
  ['fileReadKey', { fileReadKey: undefined }],
  ['fileReadKey', { fileReadKey: undefined, diversification: 'an10922' }],
  ['metaReadKey', { metaReadKey: 'abcd' }],
  ['metaReadKey', { metaReadKey: undefined }],
  ['diversification', { diversification: 'secret' }],
  ['systemIdentifier', { diversification: 'an10922', systemIdentifier: 'xyz' }],
  ['parameters', { parameters: { e: 'x', c: 'x' } }],
  ['parameters', { parameters: { e: 'c' } }],
  ['macInputFrom', { macInputFrom: 'c' }],
  ['enc', { parameters: { enc: 'enc' } }],
  ['derivation', { derivation: 'none' }],
  ['template', { template: '?e={picc}' }],
  ...['static', 'pk1', 'pk2', 'rnd', 'rndsig', 'cmd', 'res'].map((name): [string, object] => [
    'template',
    { template: `?${name}={picc}&c={mac}` },
  ]),
  ['template', { template: '?e={picc}&c={mac}', macInputFrom: 'd' }],
  ['tamper', { template: '?e={picc}&c={mac}', tamper: 'enc:0' }],
  ['id', { id: -1 }],
]

test('a key set of which something does not fit is refused, naming it', async () => {
  for (const [field, fields] of refused) {
    const answer = await create(fields)
    expect([answer.status, answer.body.message], JSON.stringify(fields)).toEqual([
      400,
      expect.stringContaining(field),
    ])
  }
  expect((await t.call('GET /admin/key-sets')).body).toEqual([])
  expect(await t.audit()).toEqual([])
})

test('of ten key sets with one id created at once there is one', async () => {
  expect(await tenTimes(() => create({}))).toEqual({ 200: 1, 409: 9 })
})

test('a key set that chips use is not removed', async () => {
  const used = await openAdminApp({
    seed: {
      version: 1,
      keySets: [{ id: 7, metaReadKey, fileReadKey, diversification: 'none' }],
      teams: [{ name: 'Acme', chipGroups: [{ name: 'G', chips: [{ uid: '04DE5F1EACC040', keySet: 7 }] }] }],
    },
  })
  expect((await used.call('GET /admin/key-sets')).body).toMatchObject([{ id: 7, chips: 1 }])
  expect(await used.call('DELETE /admin/key-sets/7')).toMatchObject({ status: 409, body: { code: 'in_use' } })
  await used.close()
})

test('keys go in and never come out: not in an answer, the audit log, the log or the database', async () => {
  const created = await create({ appMasterKey })
  const broken = await create({ id: 5, metaReadKey: `${metaReadKey}00` })
  const shown = [
    created.text,
    broken.text,
    (await t.call('GET /admin/key-sets')).text,
    (await t.call('GET /admin/audit')).text,
    (await t.call('GET /admin/status')).text,
    ...lines,
  ].join('\n')
  const [row] = await t.ctx.db.read.selectFrom('keySets').selectAll().execute()
  const stored = [row?.metaReadKey, row?.fileReadKey, row?.appMasterKey].map((sealed) =>
    Buffer.from(sealed ?? []).toString('hex'),
  )
  for (const key of [metaReadKey, fileReadKey, appMasterKey]) {
    expect(shown.toLowerCase()).not.toContain(key.toLowerCase())
    expect(stored.join()).not.toContain(key.toLowerCase())
  }
  expect(stored.every((sealed) => sealed.length > 64)).toBe(true)
})
