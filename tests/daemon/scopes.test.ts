import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EndpointSpec } from '../../src/daemon/contract/endpoint.ts'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { CardGone } from '../../src/nfc/card.ts'
import { type AdminApp, bearer, openAdminApp } from '../support/admin.ts'
import { type HaloChip, haloChip } from '../support/halo.ts'
import { Chip, inA, keySets, talk } from '../support/nfc.ts'
import { carol, chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'

// What a scope leads to, endpoint by endpoint, and step after step: whoever may only edit, set chips up, give keys away
// or read never ends with a token moved, something minted, or a scope that they were not given.

/** What each endpoint leads to at most, whoever calls it. A new endpoint is given its line here. */
const leadsTo = {
  /** Looks, and uses nothing up. */
  sight: [
    'GET /admin/audit',
    'GET /admin/audit/head',
    'GET /admin/audit/verify',
    'GET /admin/audit/export',
    'GET /admin/badge-events',
    'GET /admin/badge-events/:id/claims',
    'GET /admin/chains',
    'GET /admin/chip-groups',
    'GET /admin/chips',
    'GET /admin/chips/export',
    'GET /admin/chips/stats',
    'GET /admin/chips/:uid',
    'GET /admin/chips/:uid/history',
    'GET /admin/chips/:uid/notes',
    'GET /admin/whoami',
    'GET /admin/contracts',
    'GET /admin/contracts/:id',
    'GET /admin/api-keys',
    'GET /admin/admin-tokens',
    'GET /admin/status',
    'GET /admin/items',
    'GET /admin/key-sets',
    'GET /admin/links',
    'GET /admin/reservations',
    'GET /admin/nfc/journal',
    'GET /admin/nfc/stations',
    'GET /admin/taps',
    'GET /admin/taps/explain',
    'GET /admin/taps/follow',
    'GET /admin/events/follow',
    'GET /admin/events/rates',
    'GET /admin/guestbooks',
    'GET /admin/taps/pulse',
    'GET /admin/taps/stats',
    'GET /admin/teams',
    'GET /admin/pages/preview',
    'GET /admin/pages/strings',
    'GET /admin/transactions',
    'GET /admin/transactions/stats',
    'GET /admin/transactions/:id',
    'GET /admin/webhooks',
    'GET /admin/webhooks/health',
    'GET /admin/webhook-deliveries',
    'GET /chip-groups',
    'GET /team',
    'GET /chips',
    'GET /events',
    'GET /events/contracts',
    'GET /items',
    'GET /items/:itemId',
    'GET /items/:itemId/chips',
    'POST /phygitals/transfer/check',
  ],
  /** Batches: listed with `read`; run, and their rows read, with the scope of their kind. */
  ownBatches: [
    'GET /batches',
    'POST /batches',
    'GET /batches/:id',
    'DELETE /batches/:id',
    'POST /batches/:id/rows',
    'POST /batches/:id/files/:hash',
    'POST /batches/:id/plan',
    'POST /batches/:id/start',
    'POST /batches/:id/approve',
    'POST /batches/:id/pause',
    'POST /batches/:id/resume',
    'POST /batches/:id/cancel',
    'POST /batches/:id/undo',
    'GET /batches/:id/follow',
    'GET /batches/:id/report',
    'GET /admin/batches',
    'POST /admin/batches',
    'GET /admin/batches/:id',
    'DELETE /admin/batches/:id',
    'POST /admin/batches/:id/rows',
    'POST /admin/batches/:id/files/:hash',
    'POST /admin/batches/:id/plan',
    'POST /admin/batches/:id/start',
    'POST /admin/batches/:id/approve',
    'POST /admin/batches/:id/pause',
    'POST /admin/batches/:id/resume',
    'POST /admin/batches/:id/cancel',
    'POST /admin/batches/:id/undo',
    'GET /admin/batches/:id/follow',
    'GET /admin/batches/:id/report',
    'GET /admin/batches/:id/rows',
  ],
  /** Changes records, and where taps lead: whoever may edit a redirect URL is trusted with those who tap. */
  records: [
    'POST /admin/badge-events/:id/approve',
    'POST /admin/badge-events/:id/reject',
    'POST /admin/chip-groups',
    'PATCH /admin/chip-groups/:id',
    'DELETE /admin/chip-groups/:id',
    'POST /admin/chips/:uid/disable',
    'POST /admin/chips/:uid/notes',
    'DELETE /admin/chips/:uid/notes/:id',
    'DELETE /admin/chips/:uid',
    'POST /admin/chips/import/undo',
    'DELETE /admin/contracts/:id',
    'POST /admin/items',
    'DELETE /admin/items/:id',
    'POST /admin/links',
    'PUT /admin/pages/strings',
    'DELETE /admin/links/:id',
    'DELETE /admin/reservations/:id',
    'DELETE /admin/teams/:id',
    'POST /admin/webhooks',
    'PATCH /admin/webhooks/:id',
    'DELETE /admin/webhooks/:id',
    'POST /admin/webhooks/:id/roll',
    'POST /admin/webhooks/:id/test',
    'POST /admin/webhook-deliveries/:id/redeliver',
    'POST /badge-events',
    'PATCH /chips',
    'POST /chips/batch',
    'PATCH /events/metadata',
    'DELETE /otps/:id',
    'PATCH /phygitals/metadata',
    'POST /phygitals/metadata/batch',
  ],
  /** The same; and power over what a chip carries in some requests, which take `transfer` besides. */
  recordsOrPower: [
    'PATCH /admin/teams/:id',
    'POST /admin/chips/apply',
    'POST /admin/chips/import',
    'POST /admin/chips/:uid/link',
    'POST /admin/chips/:uid/unlink',
    'POST /admin/chips/:uid/replace',
    'POST /admin/chips/:uid/enable',
    'POST /admin/chips/:uid/simulate',
    'PATCH /admin/items/:id',
  ],
  /** A token that moves, a mint, a transaction, or power over one of them. */
  power: [
    'POST /admin/contracts',
    'POST /admin/contracts/deploy',
    'PATCH /admin/contracts/:id',
    'POST /admin/contracts/:id/service-url',
    'POST /admin/transactions/:id/cancel',
    'POST /badge-events/assign',
    'POST /badge-events/assign/undo',
    'POST /events',
    'POST /events/contracts',
    'POST /events/mint',
    'POST /events/assign/legacy',
    'POST /events/toggle-pause-state',
    'POST /phygitals/transfer',
    'POST /phygitals/transfer/batch',
    'POST /phygitals/transfer/self-service',
    'GET /phygitals/transfer-signature',
    'POST /phygitals/claim-registration',
    'DELETE /phygitals/claim-registration',
  ],
  /** A chip with keys; with `transfer` besides, one that has what another carries. */
  chips: [
    'POST /admin/nfc/sessions',
    'POST /admin/nfc/sessions/:id/answers',
    'DELETE /admin/nfc/sessions/:id',
    'POST /admin/nfc/sheets',
    'POST /admin/taps/verify',
    'GET /admin/nfc/sheets/:run',
  ],
  /** Credentials of no more than one's own, and chip keys. */
  keys: [
    'POST /admin/api-keys',
    'POST /admin/api-keys/:id/roll',
    'DELETE /admin/api-keys/:id',
    'POST /admin/admin-tokens',
    'POST /admin/admin-tokens/:id/roll',
    'DELETE /admin/admin-tokens/:id',
    'POST /admin/key-sets',
    'DELETE /admin/key-sets/:id',
    'DELETE /admin/nfc/journal/:uid',
  ],
  /** All that there is, or what limits the others. */
  everything: ['POST /admin/backup', 'POST /admin/root-token/roll', 'POST /admin/teams'],
} as const
const needed = {
  sight: 'read',
  ownBatches: 'read',
  records: 'edit',
  recordsOrPower: 'edit',
  power: 'transfer',
  chips: 'provision',
  keys: 'keys',
  everything: 'all',
} as const

const table = Object.entries<EndpointSpec>(endpoints)
const kinds = [
  'sight',
  'ownBatches',
  'records',
  'recordsOrPower',
  'power',
  'chips',
  'keys',
  'everything',
] as const

test('every endpoint with a scope takes the one that fits what it leads to', () => {
  const expected = kinds.flatMap((kind) => leadsTo[kind].map((key) => [key, needed[kind]]))
  const scoped = table.filter(([, { auth }]) => auth === 'admin' || auth === 'api-key')
  expect(scoped.map(([key, { scope }]) => [key, scope]).sort()).toEqual(expected.sort())
})

const ownKey = '00112233445566778899aabbccddeeff'
const scopeMissing = { status: 403, body: { code: 'scope_missing' } }
const mallory = carol
const jacketText = JSON.stringify({
  name: 'Jacket',
  collection: 'Jackets',
  description: '',
  image: '',
  attributes: [],
  media_gallery: [],
})

let t: AdminApp
let tokens: Record<'edit' | 'provision' | 'keys' | 'read' | 'provision+keys' | 'edit+transfer', Headers>
let editKey: Headers
type Headers = Record<string, string>
let jkt: string
let own: HaloChip

beforeAll(async () => {
  const [team, other] = phygitalSeed.teams
  t = await openAdminApp({
    chain: true,
    seed: {
      ...phygitalSeed,
      keySets: [
        ...phygitalSeed.keySets,
        ...Object.values(keySets),
        { id: 103, metaReadKey: ownKey, diversification: 'listed', macInputFrom: 'd' },
      ],
      teams: [
        {
          ...team,
          guestbookContracts: [
            { symbol: 'GB', name: 'Guests', chainId: 31337, events: [{ name: 'Opening', tokenId: '1' }] },
          ],
          badgeEvents: [
            {
              name: 'Launch',
              startDate: '2020-01-01',
              endDate: '2099-01-01',
              expiryDate: '2099-01-02',
              requestedCodes: 10,
            },
          ],
        },
        other,
      ],
    },
  })
  const token = async (scopes: string) => {
    const body = { name: scopes, scopes: scopes.split('+') }
    return bearer((await t.call('POST /admin/admin-tokens', body)).body.token)
  }
  tokens = {
    edit: await token('edit'),
    provision: await token('provision'),
    keys: await token('keys'),
    read: await token('read'),
    'provision+keys': await token('provision+keys'),
    'edit+transfer': await token('edit+transfer'),
  }
  editKey = await keyOf(['edit'])
  const { body } = await t.call('GET /admin/contracts?team=Acme')
  jkt = body.find(({ symbol }: { symbol: string }) => symbol === 'JKT').address
  own = haloChip()
  before = await effects()
})
afterAll(() => t.close())

const keyOf = async (scopes: string[]): Promise<Headers> => ({
  'x-svc-api-key': (await t.call('POST /admin/api-keys', { team: 'Acme', name: scopes.join('+'), scopes }))
    .body.key,
})

let before: unknown
/** What must not come of any of it: transactions other than announcements, claims, badges, and who owns what. */
const effects = async () => {
  const { read } = t.ctx.db
  const sent = await read.selectFrom('transactions').select(['id', 'kind']).execute()
  return {
    transactions: sent.filter(({ kind }) => !kind.endsWith('-refresh')),
    badges: await read.selectFrom('badgeClaims').selectAll().execute(),
    registrations: await read.selectFrom('claimRegistrations').selectAll().execute(),
  }
}
const nothingHappened = async () => expect(await effects()).toEqual(before)

const importRow = async (row: object, headers: Headers, query = '') => {
  const url = `POST /admin/chips/import?team=Acme&chipGroup=Jackets${query}`
  const { text } = await t.call(url, `${JSON.stringify(row)}\n`, {
    ...headers,
    'content-type': 'application/x-ndjson',
  })
  return JSON.parse(text.trim().split('\n')[0] ?? '')
}
const token = (n: number | string) => ({ contractAddress: jkt, chainId: 31337, tokenId: String(n) })
const act = (what: string, headers: Headers, body: object = {}) => t.call(what, body, headers)
const link = (uid: string, body: object, headers: Headers) =>
  act(`POST /admin/chips/${uid}/link`, headers, body)

/** Taps a chip of one's own, and takes whatever it gives. */
const tapAndTake = async (query: string) => {
  const { body } = await t.call(`GET /chips/find?${query}`)
  if (!body.otp) return { tapped: body.isValidTap, got: undefined }
  const headers = { 'x-svc-code': body.otp.code }
  const path = {
    PHYGITAL_CLAIM: 'phygitals/transfer/pullable',
    POAP_EVENT: 'badge-events/mint',
    GUESTBOOK_EVENT: 'events/mint/self',
  }
  const type: keyof typeof path = (await t.call(`GET /otps/${body.otp.code}`)).body.type
  const field = type === 'POAP_EVENT' ? { address: mallory, recipient: mallory } : { recipient: mallory }
  return { tapped: body.isValidTap, got: await t.call(`POST /${path[type]}`, field, headers) }
}
const tapOwn = () => tapAndTake(new URLSearchParams(Object.entries(own.tap())).toString())
const simulate = (uid: string, headers: Headers) => act(`POST /admin/chips/${uid}/simulate`, headers)

describe('edit alone', () => {
  test("binds no chip of one's own to a token by an import", async () => {
    const simulated = { uid: '04B00000000180', fileReadKey: ownKey, ...token(1) }
    for (const [row, query] of [
      [simulated, '&keySet=103&simulated=true'],
      [simulated, '&keySet=103'],
      [{ publicKey: own.pk2, ...token(1) }, ''],
      [{ publicKey: own.pk2, item: 'jacket' }, ''],
      [{ publicKey: own.pk2, item: 'poster', ...token(99) }, ''],
    ] as const) {
      const answer = await importRow(row, tokens.edit, query)
      expect(answer).toMatchObject({
        status: 'failed',
        error: expect.stringMatching(/scope "transfer".*someone who has the scope "keys"/),
      })
    }
    expect((await t.call('GET /admin/chips/1323224127570304')).status).toBe(404)
    // Without what gives power they are chips like others; that takes nothing but edit.
    expect(await importRow({ publicKey: own.pk2, label: 'own' }, tokens.edit)).toMatchObject({
      status: 'created',
    })
    expect(await tapOwn()).toEqual({ tapped: true, got: undefined })
    await nothingHappened()
  })

  test('links a chip that is there to nothing that moves or is minted', async () => {
    const uid = await ownUid()
    expect(await link(uid, { token: token(1) }, tokens.edit)).toMatchObject(scopeMissing)
    expect(await link(uid, { item: 'jacket' }, tokens.edit)).toMatchObject(scopeMissing)
    // An item without a contract mints nothing, and gets none while chips are bound to it.
    expect((await link(uid, { item: 'poster' }, tokens.edit)).status).toBe(200)
    expect((await tapOwn()).got?.status).toBe(409)
    const contract = { team: 'Acme', contract: 'JKT' }
    expect(await act('PATCH /admin/items/poster', tokens.edit, contract)).toMatchObject(scopeMissing)
    expect((await act('PATCH /admin/items/poster', tokens.edit, { team: 'Acme', name: 'P' })).status).toBe(
      200,
    )
    expect((await tapOwn()).got?.status).toBe(409)
    expect((await act(`POST /admin/chips/${uid}/unlink`, tokens.edit)).status).toBe(200)
    await nothingHappened()
  })

  test('hands nothing on, has nothing minted once more, and enables no stolen chip', async () => {
    const uid = await ownUid()
    await act(`POST /admin/chips/${uid}/unlink`, tokens.edit)
    await t.ctx.db.write((trx) =>
      trx.updateTable('chips').set({ label: null }).where('uid', '=', uid).execute(),
    )
    for (const carrying of [chips.jacket(2), chips.unminted(1)]) {
      const replaced = await act(`POST /admin/chips/${carrying}/replace`, tokens.edit, { with: uid })
      expect(replaced).toMatchObject(scopeMissing)
    }
    await link(chips.jacket(3), { item: 'jacket' }, t.admin)
    const unlinked = await act(`POST /admin/chips/${chips.jacket(3)}/unlink`, tokens.edit, { token: true })
    expect(unlinked).toMatchObject(scopeMissing)
    await act(`POST /admin/chips/${chips.jacket(4)}/disable`, tokens.edit)
    expect(await act(`POST /admin/chips/${chips.jacket(4)}/enable`, tokens.edit)).toMatchObject(scopeMissing)
    await act(`POST /admin/chips/${uid}/disable`, tokens.edit)
    expect((await act(`POST /admin/chips/${uid}/enable`, tokens.edit)).status).toBe(200)
    await nothingHappened()
  })

  test('simulates no chip that carries something, whatever that is', async () => {
    const made = async (n: number, more: object) => {
      const uid = `04B000000002${n}0`
      const row = { uid, fileReadKey: ownKey, ...more }
      expect(await importRow(row, t.admin, '&keySet=103&simulated=true')).toMatchObject({ status: 'created' })
      return uid
    }
    const bare = await made(1, {})
    expect((await simulate(bare, tokens.edit)).status).toBe(200)
    const events = { badge: await made(4, {}), guestbook: await made(5, {}) }
    const key = { 'x-svc-api-key': acmeKey }
    await act('POST /badge-events/assign', key, { poapEventId: 1, tagUID: events.badge })
    await act('POST /events/assign/legacy', key, { tagUIDs: [events.guestbook], guestbookEventId: 1 })
    const carrying = [await made(2, token(5)), await made(3, { item: 'poster' }), ...Object.values(events)]
    for (const uid of carrying) {
      expect(await simulate(uid, tokens.edit)).toMatchObject(scopeMissing)
      expect((await simulate(uid, tokens['edit+transfer'])).status).toBe(200)
    }
    await nothingHappened()
  })

  test('hoards no taps of a chip that is bare now, for what it may carry later', async () => {
    const hoarded = async (uid: string): Promise<string> => {
      const [shown] = (await simulate(uid, tokens.edit)).body
      return shown.url
    }
    const bare = '04B00000000680'
    expect(
      await importRow({ uid: bare, fileReadKey: ownKey }, t.admin, '&keySet=103&simulated=true'),
    ).toMatchObject({ status: 'created' })
    const url = await hoarded(bare)
    await act(`POST /admin/chips/${bare}/link`, t.admin, { item: 'poster' })
    const { search } = new URL(url)
    const found = await t.app.inject({ url: `/chips/find${search}` })
    expect(found.json()).toMatchObject({ isValidTap: false })
  })

  test('hoards no taps of a chip that it removes, for when others register it', async () => {
    const row = { uid: '04B00000000780', fileReadKey: ownKey }
    expect(await importRow(row, tokens.edit, '&keySet=103&simulated=true')).toMatchObject({
      status: 'created',
    })
    const [shown] = (await simulate(row.uid, tokens.edit)).body
    expect((await t.call(`DELETE /admin/chips/${row.uid}`, undefined, tokens.edit)).status).toBe(200)
    const registered = await importRow({ ...row, ...token(7) }, t.admin, '&keySet=103')
    expect(registered).toMatchObject({ status: 'created' })
    expect(await tapAndTake(new URL(shown.url).search.slice(1))).toEqual({ tapped: false, got: undefined })
    await nothingHappened()
  })

  test('makes nothing of a chip that was removed and comes back under keys of one’s own', async () => {
    const uid = chips.jacket(6)
    expect((await t.call(`DELETE /admin/chips/${uid}`, undefined, tokens.edit)).status).toBe(200)
    const row = { uid, fileReadKey: ownKey }
    expect(await importRow(row, tokens.edit, '&keySet=103&simulated=true')).toMatchObject({
      status: 'created',
    })
    const [shown] = (await simulate(uid, tokens.edit)).body
    expect(await tapAndTake(new URL(shown.url).search.slice(1))).toEqual({ tapped: true, got: undefined })
    await nothingHappened()
  })

  test('takes no second tap away, registers no contract, and gives away nothing', async () => {
    const { body } = await t.call('GET /admin/contracts?team=Acme')
    const { id } = body.find(({ symbol }: { symbol: string }) => symbol === 'ART')
    const place = { team: 'Acme', symbol: 'X', name: 'X', chainId: 31337 }
    for (const [what, fields] of [
      [`PATCH /admin/contracts/${id}`, { twoTap: null }],
      ['POST /admin/contracts', { ...place, address: mallory }],
      ['POST /admin/contracts/deploy', place],
      [`POST /admin/contracts/${id}/service-url`, {}],
      ['POST /admin/transactions/1/cancel', { reason: 'x' }],
      ['PATCH /admin/teams/1', { transactionsPerDay: 1_000_000 }],
      ['POST /admin/api-keys', { team: 'Acme', name: 'x' }],
      ['POST /admin/admin-tokens', { name: 'x', scopes: ['edit'] }],
      ['POST /admin/key-sets', { id: 9, metaReadKey: ownKey, diversification: 'listed' }],
      ['POST /admin/backup', { passphrase: 'x'.repeat(20) }],
      ['POST /admin/nfc/sessions', inA],
    ] as const)
      expect(await act(what, tokens.edit, fields)).toMatchObject(scopeMissing)
    await nothingHappened()
  })

  test('as an API key assigns nothing, sends nothing and signs nothing; announcements go out', async () => {
    const place = { ...token(7), recipient: mallory }
    for (const [what, fields] of [
      ['POST /badge-events/assign', { poapEventId: 1, tagUID: chips.jacket(8) }],
      ['POST /events/assign/legacy', { tagUIDs: [chips.jacket(8)], guestbookEventId: 1 }],
      ['POST /events/contracts', { name: 'X', symbol: 'X', chainId: 31337 }],
      ['POST /events', { name: 'X', tokenId: '9', contractId: 3, metadata: jacketText }],
      ['POST /events/mint', { eventId: 1, recipient: mallory }],
      ['POST /events/toggle-pause-state', { contractId: 3, pauseState: true }],
      ['POST /phygitals/transfer', place],
      ['POST /phygitals/transfer/self-service', { tagUID: chips.jacket(7), recipient: mallory }],
      ['POST /phygitals/claim-registration', place],
      ['DELETE /phygitals/claim-registration', place],
    ] as const)
      expect(await act(what, editKey, fields)).toMatchObject(scopeMissing)
    const query = new URLSearchParams({ ...place, chainId: '31337' })
    expect(await t.call(`GET /phygitals/transfer-signature?${query}`, undefined, editKey)).toMatchObject(
      scopeMissing,
    )
    expect(
      (await act('PATCH /phygitals/metadata', editKey, { ...token(7), metadata: jacketText })).status,
    ).toBe(200)
    await nothingHappened()
  })

  const ownUid = async (): Promise<string> => {
    const { body } = await t.call('GET /admin/chips/export?team=Acme')
    const rows: { uid: string; publicKey: string | null }[] = String(body)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    return rows.find(({ publicKey }) => publicKey === own.pk2)?.uid ?? ''
  }
})

/** One that says and knows all that a chip does at this moment. */
function copyOf({ chip: { memory } }: Chip): Chip {
  const copy = new Chip(memory.uid)
  for (const [at, slot] of copy.chip.memory.keys.entries())
    Object.assign(slot, { version: memory.keys[at]?.version, key: Buffer.from(memory.keys[at]?.key ?? '') })
  for (const [number, file] of copy.chip.memory.files) {
    memory.files.get(number)?.bytes.copy(file.bytes)
    file.settings = Buffer.from(memory.files.get(number)?.settings ?? '')
  }
  copy.chip.memory.sdmReadCounter = memory.sdmReadCounter
  return copy
}

describe('provision', () => {
  const run = (chip: Chip, headers: Headers, more: object = {}) =>
    talk(t.call, chip.put(), { ...inA, ...more }, { headers })
  const refused = { status: 'failed', code: 'scope_missing', error: expect.stringMatching(/transfer/) }
  const listed = async (more: object): Promise<Chip> => {
    const chip = new Chip()
    await importRow({ uid: chip.uid, ...more }, t.admin, '&keySet=201')
    return chip
  }

  test('claims no UID that carries something with a blank chip, before it was ever set up', async () => {
    for (const more of [token(9), { item: 'jacket' }]) {
      const chip = await listed(more)
      for (const wanted of [{}, { rekey: true }]) {
        expect(await run(chip, tokens.provision, wanted)).toMatchObject(refused)
        expect(await run(chip, tokens['provision+keys'], wanted)).toMatchObject(refused)
      }
      expect(chip.versions).toEqual([0, 0, 0, 0, 0])
      expect((await run(chip, t.admin)).status).toBe('provisioned')
    }
    await nothingHappened()
  })

  test('nor with --rekey by keys of another set, or of an older generation, that may be one’s own', async () => {
    const chip = await listed({})
    expect((await run(chip, tokens.provision)).status).toBe('provisioned')
    const older = copyOf(chip)
    expect((await run(chip, tokens.provision, { rekey: true })).status).toBe('provisioned')
    await link(chip.uid, { token: token(10) }, t.admin)
    expect((await run(chip, tokens.provision)).status).toBe('unchanged')
    for (const headers of [tokens.provision, tokens['provision+keys']])
      expect(await run(older, headers, { rekey: true })).toMatchObject(refused)
    // Who has the chip with the keys that it is registered with has what it carries anyway.
    expect((await run(chip, tokens.provision, { rekey: true })).status).toBe('provisioned')
    await nothingHappened()
  })

  test('binds no chip to an item whose tokens are minted', async () => {
    const chip = new Chip()
    const ended = await run(chip, tokens.provision, { item: 'jacket' })
    expect(ended).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/scope "transfer".*someone who has the scope "keys"/),
    })
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
    expect((await run(chip, tokens.provision, { item: 'poster' })).status).toBe('provisioned')
    await nothingHappened()
  })

  test('goes on with no set-up of somebody who might with a chip that is still blank', async () => {
    const chip = new Chip()
    const card = chip.put({ apdu: 13, when: 'before' })
    const begun = talk(t.call, card, { ...inA, item: 'jacket' }, { headers: t.admin })
    await expect(begun).rejects.toThrow(CardGone)
    expect((await t.call(`GET /admin/nfc/journal?uid=${chip.uid}`)).body).toHaveLength(1)
    const recover = (headers: Headers) => talk(t.call, chip.put(), { purpose: 'recover' }, { headers })
    expect(await recover(tokens.provision)).toMatchObject(refused)
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
    expect((await recover(t.admin)).status).toBe('provisioned')
    expect((await t.call(`GET /admin/chips/${chip.uid}`)).body.item).toMatchObject({ id: 'jacket' })
    await nothingHappened()
  })
})

test('keys gives no more than it has, and reads', async () => {
  for (const scopes of [['edit'], ['transfer'], ['all']])
    expect(await act('POST /admin/api-keys', tokens.keys, { team: 'Acme', name: 'x', scopes })).toMatchObject(
      scopeMissing,
    )
  for (const scopes of [['edit'], ['keys', 'provision'], ['transfer'], ['all']])
    expect(await act('POST /admin/admin-tokens', tokens.keys, { name: 'x', scopes })).toMatchObject(
      scopeMissing,
    )
  const made = await act('POST /admin/api-keys', tokens.keys, { team: 'Acme', name: 'plain' })
  expect(made.body.scopes).toEqual(['read'])
  expect(await act('PATCH /chips', { 'x-svc-api-key': made.body.key }, {})).toMatchObject(scopeMissing)
  await nothingHappened()
})

test('read does nothing but look', async () => {
  const key = await keyOf(['read'])
  for (const [name, { auth, scope }] of table) {
    if ((auth !== 'admin' && auth !== 'api-key') || scope === 'read') continue
    const what = name.replace(/:\w+/g, '1')
    expect(await act(what, auth === 'admin' ? tokens.read : key)).toMatchObject(scopeMissing)
  }
  await nothingHappened()
})

test('with transfer besides, a chip is bound, simulated, and its token moves', async () => {
  const headers = tokens['edit+transfer']
  const row = { uid: '04B00000000380', fileReadKey: ownKey, ...token(11) }
  expect(await importRow(row, headers, '&keySet=103&simulated=true')).toMatchObject({ status: 'created' })
  const [shown] = (await simulate(row.uid, headers)).body
  const { got } = await tapAndTake(new URL(shown.url).search.slice(1))
  expect(got).toMatchObject({ status: 200, body: { success: true } })
})
