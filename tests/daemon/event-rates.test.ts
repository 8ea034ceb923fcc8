import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventRates } from '../../src/daemon/domain/badge-events/event-rates.ts'
import { testClock } from '../support/daemon.ts'
import { type Guestbooks, openGuestbooks } from '../support/guestbook.ts'
import { bob } from '../support/phygitals.ts'
import { acmeKey, otherKey } from '../support/seeds.ts'

let g: Guestbooks
const clock = testClock()
beforeAll(async () => {
  g = await openGuestbooks({ clock })
})
afterAll(() => g.close())

const get = async (url: string, key = acmeKey) => (await g.ask(url, undefined, { key })).body

const event = {
  ...{ teamId: 1, name: 'Opening night', description: '', city: '', country: '', eventUrl: '' },
  ...{ startDate: '2026-01-01', endDate: '2026-12-31', expiryDate: '2026-12-31' },
  ...{ privateEvent: 0, virtualEvent: 0, requestedCodes: 500, remainingCodes: 480 },
  ...{ upstreamId: 100_000, approval: 'approved' as const },
}
const at = (hoursAgo: number) => new Date(clock.now() - hoursAgo * 3_600_000).toISOString()

async function claimed(badgeEventId: number, times: readonly string[]) {
  const rows = times.map((createdAt, n) => ({
    ...{ badgeEventId, codeNumber: null, otpHash: `${badgeEventId}-${createdAt}-${n}`, chipUid: '1' },
    ...{ recipient: `${n}@example.com`, deviceHash: null, state: 'claimed' as const, attempts: 0 },
    ...{ isSent: 1, isAnswered: 1, createdAt, claimedAt: createdAt },
  }))
  await g.ctx.db.write((trx) => trx.insertInto('badgeClaims').values(rows).execute())
}

test('counts claims and mints of the last hour and of each of 24 hours, for their team alone', async () => {
  const { id } = await g.ctx.db.write((trx) =>
    trx
      .insertInto('badgeEvents')
      .values({ ...event, createdAt: at(99) })
      .returning('id')
      .executeTakeFirstOrThrow(),
  )
  await claimed(id, [at(30), at(5), at(5), at(0.5)])
  await g.ask('/events/mint', { eventId: 1, recipient: bob })
  await g.ask('/events/mint', { eventId: 2, recipient: bob })
  await g.ask('/events/mint', { eventId: 2, recipient: bob })
  const rates = await get('/admin/events/rates')
  expect(rates).toMatchObject({ isComplete: true, badgeEvents: [{ id, lastHour: 1 }] })
  expect(rates.hours).toHaveLength(24)
  const [badge] = rates.badgeEvents
  const sum = (all: number[]) => all.reduce((total, one) => total + one, 0)
  expect([badge.byHour.length, sum(badge.byHour)]).toEqual([24, 3])
  const mints = rates.guestbooks.map(({ id, lastHour, byHour }: never) => [id, lastHour, sum(byHour)])
  expect(mints.sort()).toEqual([
    [1, 1, 1],
    [2, 2, 2],
  ])
  expect(await get('/admin/events/rates', otherKey)).toMatchObject({ badgeEvents: [], guestbooks: [] })
})

test('lists guestbooks with their contracts, newest first, a page at a time', async () => {
  const all = await get('/admin/guestbooks')
  expect(all.map(({ name }: { name: string }) => name)).toEqual(['Far', 'Closing', 'Opening'])
  expect(all[2]).toMatchObject({
    ...{ id: 1, team: 'Acme', tokenId: '1', contractName: 'Guests', chainId: 31337, problem: null },
  })
  expect(await get(`/admin/guestbooks?before=${all[0].id}&limit=1`)).toEqual([all[1]])
  expect(await get('/admin/guestbooks', otherKey)).toEqual([])
})

test('says where there are more claims than are counted', async () => {
  for (let n = 0; n < 21; n++)
    await claimed(
      1,
      Array.from({ length: 1000 }, () => at(0.1)),
    )
  const rates = await eventRates(g.ctx, undefined)
  expect(rates).toMatchObject({ isComplete: false, badgeEvents: [{ lastHour: 20_000 }] })
})
