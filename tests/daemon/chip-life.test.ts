import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { openAdminApp } from '../support/admin.ts'
import { tapRef } from '../support/badges.ts'
import { batchesBy } from '../support/batches.ts'
import { testClock } from '../support/daemon.ts'
import { Chip, inA, nfcSeed, talk } from '../support/nfc.ts'
import { ownerEdit } from '../support/owner-edit.ts'
import { bob, chipUid, phygitalSeed, phygitalsForTest } from '../support/phygitals.ts'
import { acmeKey, alice } from '../support/seeds.ts'

interface Entry {
  at: string
  kind: string
  by: string | null
  changes?: Record<string, unknown>
  detail?: Record<string, unknown>
}

const [team, ...others] = phygitalSeed.teams
const withEvents = {
  ...phygitalSeed,
  teams: [
    {
      ...team,
      guestbookContracts: [
        { symbol: 'GB', name: 'Guests', chainId: 31337, events: [{ name: 'Opening', tokenId: '1' }] },
      ],
      badgeEvents: [
        {
          name: 'Night',
          description: 'x',
          startDate: '2026-05-30',
          endDate: '2026-06-02',
          expiryDate: '2026-07-01',
          requestedCodes: 10,
        },
      ],
    },
    ...others,
  ],
}

test('a chip tells a long life: transfers, events, mints, its owner, its removal and what came before', async () => {
  const clock = testClock()
  const p = await phygitalsForTest({ clock, seed: withEvents })
  const uid = chipUid(900)
  const owner = privateKeyToAccount(generatePrivateKey())
  const key = { key: acmeKey }
  const done = async (work: Promise<{ status: number; body: unknown }>) => {
    const { status, body } = await work
    expect([status, status < 300 ? '' : body]).toEqual([status < 300 ? status : 200, ''])
    clock.advance('1s')
    return body
  }
  const csv = async (text: string) => {
    const headers = { ...p.admin, 'content-type': 'text/csv' }
    const url = '/admin/chips/import?chipGroup=Late&keySet=101&team=Acme'
    expect(
      (await p.app.inject({ method: 'POST', url, headers, payload: text })).body.match(/"created"/g),
    ).toHaveLength(2)
    clock.advance('1s')
  }
  const batch = async (redirectUrl: string) => {
    const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' }
    const payload = [uid, chipUid(901)].map((one) => JSON.stringify({ uid: one, redirectUrl })).join('\n')
    await p.app.inject({ method: 'POST', url: '/chips/batch', headers, payload })
    clock.advance('1s')
  }
  const { contractAddress, chainId } = p.token('JKT', 1)
  await csv(
    `uid,contractAddress,chainId,tokenId\n${uid},${contractAddress},${chainId},1\n${chipUid(901)},,,\n`,
  )
  await done(p.ask('/phygitals/transfer', { ...p.token('JKT', 1), recipient: owner.address }, key))
  await p.settled()
  await batch('https://acme.example/1')
  const until = Math.floor(clock.now() / 1000) + 300
  const mine = 'https://owner.example/'
  const ownerSignature = await owner.signTypedData(ownerEdit(p.addressOf('JKT'), 1, mine, until))
  const edit = {
    ...p.token('JKT', 1),
    updates: { redirectUrl: mine },
    requestExpiryTime: until,
    ownerSignature,
  }
  await done(p.ask('/chips/self-service', edit, { method: 'PATCH' }))
  await done(p.ask('/events/assign/legacy', { guestbookEventId: 1, tagUIDs: [uid] }, key))
  await done(p.ask('/badge-events/assign', { poapEventId: 1, tagUID: uid }, key))
  const tapped = await tapRef(p.app, uid)
  const code = (name: 'guestbookEvents' | 'badgeEvents') => ({ code: tapped[name][0].otp })
  await done(p.ask('/events/mint/self', { recipient: bob }, code('guestbookEvents')))
  await done(p.ask('/badge-events/mint', { recipient: bob, poapEventId: 1 }, code('badgeEvents')))
  await done(p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code: tapped.linkedToken.otp }))

  const history = async (query = '') =>
    (await p.app.inject({ url: `/admin/chips/${uid}/history${query}`, headers: p.admin })).json() as Entry[]
  const told = (entries: Entry[]) =>
    entries.map(({ kind, by, changes, detail }) => [kind, detail?.action ?? detail?.outcome, by, changes])
  const first = told(await history())
  expect(first).toEqual([
    ['transfer', 'phygitals.transfer', 'code', { owner: { from: owner.address, to: bob } }],
    ['mint', 'badge-events.mint', 'code', undefined],
    ['mint', 'guestbook.mint', 'code', undefined],
    ['tap', 'valid', null, undefined],
    ['assignment', 'badge-events.assign', 'key:ops', undefined],
    ['assignment', 'guestbook.assign', 'key:ops', undefined],
    [
      'change',
      'chips.edit-self',
      `owner:${owner.address}`,
      { redirectUrl: { from: 'https://acme.example/1', to: mine } },
    ],
    ['change', 'chips.batch', 'key:ops', { redirectUrl: { from: null, to: 'https://acme.example/1' } }],
    ['transfer', 'phygitals.transfer', 'key:ops', { owner: { from: alice, to: owner.address } }],
    // Its start and its end, in the same moment here.
    ['registration', 'chips.import', 'admin:root', undefined],
    ['registration', 'chips.import', 'admin:root', undefined],
  ])

  // Its removal takes its row away, and with it what led to the entries of many chips.
  await p.app.inject({ method: 'DELETE', url: `/admin/chips/${uid}`, headers: p.admin })
  clock.advance('1s')
  const audit = async () => {
    const url = `/admin/audit?uid=${uid}`
    const entries = (await p.app.inject({ url, headers: p.admin })).json() as { action: string }[]
    return entries.map(({ action }) => action)
  }
  const actions = first.flatMap(([, action]) => (action === 'valid' ? [] : action))
  expect(await audit()).toEqual(['chips.remove', ...actions])
  await csv(`uid\n${uid}\n${chipUid(902)}\n`)
  await batch('https://acme.example/2')
  expect(told(await history())).toEqual([
    ['change', 'chips.batch', 'key:ops', { redirectUrl: { from: null, to: 'https://acme.example/2' } }],
    ['registration', 'chips.import', 'admin:root', undefined],
    ['registration', 'chips.import', 'admin:root', undefined],
    ['registration', 'chips.remove', 'admin:root', undefined],
    ...first,
  ])
  expect(await audit()).toEqual(['chips.batch', 'chips.import', 'chips.import', 'chips.remove', ...actions])
  const pages: Entry[] = []
  for (let page = await history('?limit=4'); page.length > 0; ) {
    pages.push(...page)
    page = await history(`?limit=4&before=${page.at(-1)?.at}`)
  }
  expect(pages).toEqual(await history('?limit=1000'))
  // Nothing in it is for the machine alone.
  expect(JSON.stringify(pages)).not.toMatch(/tokenRow|registeredAt|"rows"|"uids"/)
})

test('a removal by a batch and an undone import lead to what came before as well', async () => {
  const clock = testClock()
  const t = await openAdminApp({ clock, seed: phygitalSeed })
  const batch = 'b_1hq3v9k7s2m4xa'
  const [gone, undone] = [chipUid(900), chipUid(901)]
  await t.app.inject({
    method: 'POST',
    url: '/admin/chips/import?chipGroup=Late&keySet=101&team=Acme',
    headers: { ...t.admin, 'content-type': 'text/csv', 'tapchip-batch': batch },
    payload: `uid\n${gone}\n${undone}\n`,
  })
  clock.advance('1s')
  await t.call('POST /admin/chips/import/undo', { batch, uids: [undone] })
  clock.advance('1s')
  const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' }
  const lines = (url: string, rows: object[]) =>
    t.app.inject({ method: 'POST', url, headers, payload: rows.map((row) => JSON.stringify(row)).join('\n') })
  await lines('/chips/batch', [{ uid: gone, redirectUrl: 'https://acme.example/1' }])
  clock.advance('1s')
  await lines('/chips/batch', [{ uid: gone, redirectUrl: null }])
  clock.advance('1s')
  const batches = batchesBy(t)
  const removal = await batches.uploaded('chips remove', [{ row: 1, uid: gone, remove: 'always' }])
  await batches.plan(removal)
  expect(await batches.run(removal)).toMatchObject({ state: 'done', changed: 1 })
  const actions = async (uid: string) =>
    (await t.audit(`uid=${uid}`))
      .map(({ action }) => action)
      .filter((action) => !action.startsWith('batches.'))
  expect(await actions(undone)).toEqual(['chips.undo-import', 'chips.import', 'chips.import'])
  expect(await actions(gone)).toEqual([
    'chips.apply',
    'chips.batch',
    'chips.batch',
    'chips.import',
    'chips.import',
  ])
  await t.close()
})

test('a chip tells how it was set up and reset', async () => {
  const clock = testClock()
  const t = await openAdminApp({ clock, seed: nfcSeed })
  const chip = new Chip()
  await talk(t.call, chip.put(), inA)
  clock.advance('1s')
  await talk(t.call, chip.put(), { purpose: 'reset' })
  const { body } = await t.call(`GET /admin/chips/${chip.uid}/history`)
  const told = (body as Entry[]).filter(({ kind }) => kind !== 'tap')
  expect(new Set(told.map(({ kind, by }) => `${kind} ${by}`))).toEqual(new Set(['setup admin:root']))
  expect(told.find(({ detail }) => detail?.action === 'chips.provision')?.changes).toEqual({
    keySet: { from: null, to: 201 },
    generation: { from: null, to: 0 },
  })
  expect(told.find(({ detail }) => detail?.action === 'chips.reset')?.detail).toMatchObject({ keySet: 201 })
  await t.close()
})
