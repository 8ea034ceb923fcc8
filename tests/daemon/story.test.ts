import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminToken, allSettled, testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalSeed } from '../support/phygitals.ts'
import { seed } from '../support/seeds.ts'
import { Browser } from '../support/tap-browser.ts'

const guest = '04AA0000000180'
const [acme, other] = phygitalSeed.teams
const everything = {
  ...phygitalSeed,
  teams: [
    {
      ...acme,
      chipGroups: [...(acme?.chipGroups ?? []), { name: 'Guests', chips: [{ uid: guest, keySet: 101 }] }],
      guestbookContracts: seed.teams[0]?.guestbookContracts?.map((contract) => ({
        ...contract,
        events: contract.events.map((event) => ({ ...event, chips: [guest] })),
      })),
      badgeEvents: seed.teams[0]?.badgeEvents?.map((event) => ({ ...event, chips: [guest] })),
    },
    other,
  ],
}

let p: Phygitals
const clock = testClock()
beforeAll(async () => {
  p = await openPhygitals({ clock, seed: everything })
  await admin('PATCH', 'teams/1', { publicPages: true })
})
afterAll(() => p.close())

async function admin(method: 'GET' | 'PATCH' | 'POST', path: string, payload?: object) {
  const headers = { authorization: `Bearer ${adminToken}` }
  const answer = await p.app.inject({
    method,
    url: `/admin/${path}`,
    headers,
    ...(payload ? { payload } : {}),
  })
  expect(answer.statusCode, answer.body).toBe(200)
  return answer.json()
}

/** What the public page of a chip tells, newest first: the kind of each entry, its day, and its words. */
async function told(uid: string) {
  const { publicPage } = await admin('GET', `chips/${uid}`)
  const { body } = await p.app.inject({ url: new URL(publicPage).pathname })
  const entries = [
    ...body.matchAll(/data-story="(\w+)"><time datetime="([\d-]+)">[^<]*<\/time> <span>(.*?)<\/span><\/li>/g),
  ]
  const rows = entries.map(([, is, day, words = '']) => [is, day, words.replace(/<[^>]*>/g, '')])
  return { rows, body }
}

test('tells of a badge, a guestbook, an opened seal, and the set up, newest first, and of no wallet', async () => {
  const browser = new Browser(p)
  const page = await browser.tap(guest, 1)
  const keys = Object.keys(await browser.states(page))
  const idOf = (kind: string) => Number(keys.find((key) => key.startsWith(kind))?.split('-')[1])
  const press = (kind: string, recipient: string) =>
    browser.press(page, { kind, id: idOf(kind), recipient, deviceId: 'phone-1' })
  expect((await press('guestbook', bob)).status).toBe(200)
  await allSettled(p.ctx)
  clock.advance('1d')
  const again = await browser.tap(guest, 2)
  expect(
    (await browser.press(again, { kind: 'badge', id: idOf('badge'), recipient: bob, deviceId: 'phone-1' }))
      .status,
  ).toBe(200)
  await allSettled(p.ctx)
  clock.advance('1d')
  await p.ctx.db.write((trx) =>
    trx
      .updateTable('chips')
      .set({ tamper: 'open', openedAt: new Date(clock.now()).toISOString() })
      .where('uid', '=', String(BigInt(`0x${guest}`)))
      .execute(),
  )
  const { rows, body } = await told(guest)
  expect(rows).toEqual([
    ['seal', '2026-06-03', expect.any(String)],
    ['badge', '2026-06-02', expect.stringContaining('Launch')],
    ['guestbook', '2026-06-01', expect.stringContaining('Opening')],
    ['setup', '2026-06-01', expect.any(String)],
  ])
  expect(body.toLowerCase()).not.toContain(bob.toLowerCase())
})

test('tells of a mint and a claim on their days, and since when its owner holds the piece', async () => {
  const browser = new Browser(p)
  const day = new Date(clock.now()).toISOString().slice(0, 10)
  const unminted = await browser.tap(chips.unminted(1), 1)
  expect((await browser.press(unminted, { kind: 'claim', recipient: carol })).status).toBe(200)
  const jacket = await browser.tap(chips.jacket(3), 1)
  expect((await browser.press(jacket, { kind: 'claim', recipient: bob })).status).toBe(200)
  await p.settled()
  const minted = await told(chips.unminted(1))
  expect(minted.rows.map(([is]) => is)).toEqual(['minted', 'setup'])
  expect(minted.rows[0]?.[1]).toBe(day)
  const claimed = await told(chips.jacket(3))
  expect(claimed.rows.map(([is, at]) => [is, at])).toEqual([
    ['claimed', day],
    ['minted', '2026-06-01'],
    ['setup', '2026-06-01'],
  ])
  // The owner that the chain had told just before is kept for seconds.
  for (const uid of [chips.unminted(1), chips.jacket(3)])
    await expect
      .poll(async () => (await told(uid)).body)
      .toMatch(/<span class="soft">since June \d, 2026<\/span>/)
})

test('a note is told from then on, of a chip that had nothing else to tell', async () => {
  expect((await told(chips.unminted(2))).rows.map(([is]) => is)).toEqual(['setup'])
  await admin('POST', `chips/${chips.unminted(2)}/notes`, { text: 'Repaired in Oslo' })
  const [first, ...others] = (await told(chips.unminted(2))).rows
  expect(first).toEqual(['note', expect.any(String), 'Repaired in Oslo'])
  expect(others.map(([is]) => is)).toEqual(['setup'])
})
