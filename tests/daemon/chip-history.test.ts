import { expect, test } from 'vitest'
import { testClock } from '../support/daemon.ts'
import { bob, chips, phygitalsForTest } from '../support/phygitals.ts'
import { acmeKey, otherKey } from '../support/seeds.ts'

interface Entry {
  at: string
  kind: string
  by: string | null
  changes?: Record<string, { from?: unknown; to?: unknown }>
  detail?: Record<string, unknown>
}

test('a chip tells its taps, changes with both values, claims and who made them, newest first', async () => {
  const clock = testClock()
  const p = await phygitalsForTest({ clock })
  const uid = chips.art(1)
  const admin = (path: string, payload: object) => {
    clock.advance('1s')
    return p.app.inject({ method: 'POST', url: `/admin/chips/${uid}/${path}`, headers: p.admin, payload })
  }
  const lines = async (...redirects: string[]) => {
    clock.advance('1s')
    const rows = redirects.flatMap((redirectUrl) =>
      [uid, chips.art(2)].map((one) => JSON.stringify({ uid: one, redirectUrl })),
    )
    const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' }
    await p.app.inject({ method: 'POST', url: '/chips/batch', headers, payload: rows.join('\n') })
  }
  await lines('https://acme.example/1')
  clock.advance('1s')
  await p.refOf(uid)
  await lines('https://acme.example/2')
  clock.advance('1s')
  const updates = { redirectUrl: 'https://acme.example/3' }
  await p.ask('/chips', { tagUIDs: [uid, chips.art(3)], updates }, { key: acmeKey, method: 'PATCH' })
  clock.advance('1s')
  await p.ask('/phygitals/claim-registration', { ...p.token('ART', 1), recipient: bob }, { key: acmeKey })
  expect((await admin('disable', { reason: 'lost' })).statusCode).toBe(200)
  expect((await admin('unlink', { token: true })).statusCode).toBe(200)

  const ask = async (query = '', headers: Record<string, string> = p.admin) => {
    const answer = await p.app.inject({ url: `/admin/chips/${uid}/history${query}`, headers })
    return { status: answer.statusCode, body: answer.json() as Entry[] }
  }
  const { body: all } = await ask()
  expect(all.map(({ kind, by, changes }) => [kind, by, changes])).toEqual([
    [
      'change',
      'admin:root',
      {
        contractAddress: { from: p.addressOf('ART'), to: null },
        chainId: { from: 31337, to: null },
        tokenId: { from: '1', to: null },
      },
    ],
    ['change', 'admin:root', { disabled: { from: false, to: true } }],
    ['claim', 'key:ops', undefined],
    ['change', 'key:ops', { redirectUrl: { from: 'https://acme.example/2', to: 'https://acme.example/3' } }],
    ['change', 'key:ops', { redirectUrl: { from: 'https://acme.example/1', to: 'https://acme.example/2' } }],
    ['tap', null, undefined],
    ['change', 'key:ops', { redirectUrl: { from: null, to: 'https://acme.example/1' } }],
  ])
  expect(all.find(({ kind }) => kind === 'tap')?.detail).toMatchObject({ outcome: 'valid', counter: 1 })
  expect(all[1]?.detail).toMatchObject({ action: 'chips.disable', reason: 'lost' })

  const first = (await ask('?limit=3')).body
  const rest = (await ask(`?limit=100&before=${first.at(-1)?.at}`)).body
  expect([...first, ...rest]).toEqual(all)

  // Another team learns neither that there is such a chip, nor what happened to it.
  expect((await ask('', { 'x-svc-api-key': otherKey })).status).toBe(404)
  expect((await ask('', { 'x-svc-api-key': acmeKey })).body).toEqual(all)
})

test('what an earlier version did not record is not made up', async () => {
  const p = await phygitalsForTest()
  const uid = chips.jacket(1)
  await p.ask(
    '/chips',
    { tagUIDs: [uid], updates: { redirectUrl: 'https://acme.example/' } },
    { key: acmeKey, method: 'PATCH' },
  )
  await p.ctx.db.write((trx) =>
    trx
      .updateTable('audit')
      .set({ detail: '{"redirectUrl":"https://acme.example/","uids":[]}' })
      .where('action', '=', 'chips.edit')
      .execute(),
  )
  const answer = await p.app.inject({ url: `/admin/chips/${uid}/history`, headers: p.admin })
  expect(answer.json()[0].changes).toEqual({ redirectUrl: { to: 'https://acme.example/' } })
})
