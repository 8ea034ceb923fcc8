import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fleet, startFleet } from '../support/fleet.ts'
import { startMailServer, type TestMailServer } from '../support/mail-server.ts'
import { digitsIn, pathIn } from '../support/reservations.ts'
import { derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// Two daemons on one database share what bounds the mails and the digits.

const ten = Array.from({ length: 10 }, (_, n) => n)
const uidOf = (n: number): string => `04B1${n.toString(16).padStart(8, '0').toUpperCase()}80`
const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      chipGroups: [{ name: 'All', chips: ten.map((n) => ({ uid: uidOf(n), keySet: 101 })) }],
      badgeEvents: ['Launch', 'Second'].map((name) => ({
        ...{ name, startDate: day(-1), endDate: day(2), expiryDate: day(9), requestedCodes: 10 },
        chips: ten.map(uidOf),
      })),
    },
  ],
}

let server: TestMailServer
let fleet: Fleet
beforeAll(async () => {
  server = await startMailServer()
  const env = { TAPCHIP_SMTP_URL: server.url, TAPCHIP_SMTP_FROM: 'tags@acme.example' }
  fleet = await startFleet({ seed, env })
}, 60_000)
afterAll(async () => {
  await fleet?.stop()
  await server?.stop()
})

const urlOf = (n: number): string => fleet.daemons[n % 2]?.url ?? ''
/** Taps a chip at one of the daemons. @returns the ref of its page */
async function tapped(n: number): Promise<string> {
  const answer = await fetch(urlOf(n) + tapPath(tap(derived, { uid: uidOf(n) }, 1)))
  return /data-ref="([^"]+)"/.exec(await answer.text())?.[1] ?? ''
}
const send = (at: number, fields: Record<string, string>) =>
  fetch(`${urlOf(at)}/t/reserve`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(fields),
  })
const wallet = (n: number): string => `0x${String(n).repeat(40)}`
/** How often each badge was given. */
const claims = async () => {
  const rows = await fleet.daemons[1]?.ctx.db.read.selectFrom('badgeClaims').select('badgeEventId').execute()
  return [1, 2].map((id) => rows?.filter(({ badgeEventId }) => badgeEventId === id).length ?? 0)
}
const mailsTo = (address: string) => server.mails().filter(({ headers }) => headers.to === address)
const newestTo = async (address: string, count: number) => {
  await expect.poll(() => mailsTo(address).length, { timeout: 20_000 }).toBe(count)
  return mailsTo(address).at(-1)?.text ?? ''
}

test('digits take five tries at both together, and of ten that enter the right ones at once one keeps', async () => {
  const ref = await tapped(0)
  expect((await send(0, { ref, email: 'tries@example.org' })).status).toBe(200)
  const code = digitsIn(await newestTo('tries@example.org', 1))
  const wrong = code === '000000' ? '000001' : '000000'
  const tried = await Promise.all(ten.map((n) => send(n, { ref, code: wrong })))
  expect(tried.map(({ status }) => status)).toEqual(Array(10).fill(400))
  const tries = await Promise.all(
    fleet.daemons.map(({ ctx }) => ctx.db.read.selectFrom('reservations').select('tries').execute()),
  )
  expect(tries).toEqual(Array(2).fill([{ tries: 5 }]))
  // Right, and too late.
  for (const at of [0, 1]) expect((await send(at, { ref, code })).status).toBe(400)

  expect((await send(1, { ref, email: 'tries@example.org' })).status).toBe(200)
  const next = digitsIn(await newestTo('tries@example.org', 2))
  const kept = await Promise.all(ten.map((n) => send(n, { ref, code: next })))
  expect(kept.map(({ status }) => status)).toEqual(Array(10).fill(200))
  const path = pathIn(await newestTo('tries@example.org', 3))

  // The link gives both badges once, and agrees with itself.
  const named = await Promise.all(
    ten.map((n) =>
      fetch(urlOf(n) + path, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ recipient: wallet(1) }),
      }),
    ),
  )
  expect(named.map(({ status }) => status)).toEqual(Array(10).fill(303))
  expect(await claims()).toEqual([1, 1])
})

test('ten presses at both for two badges at once give each once', async () => {
  const before = await claims()
  const ref = await tapped(3)
  const body = [...Object.entries({ ref, kind: 'collect', recipient: wallet(2) })]
  for (const id of [1, 2]) body.push(['choice', `badge-${id}`])
  const answers = await Promise.all(
    ten.map((n) =>
      fetch(`${urlOf(n)}/t/act`, {
        method: 'POST',
        headers: { accept: 'application/json' },
        body: new URLSearchParams(body),
      }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  const shown = await Promise.all(answers.map(async (answer) => JSON.stringify(await answer.json())))
  for (const text of shown) expect(text.match(/data-state=\\"confirmed/g)).toHaveLength(2)
  expect(await claims()).toEqual(before.map((count) => count + 1))
})

test('an address that the mail server refuses is said at once by both, whichever sends the mails', async () => {
  for (const n of [1, 2]) {
    const answer = await send(n, { ref: await tapped(n), email: `nobody@${n}.example.org` })
    expect(JSON.stringify(await answer.json())).toContain('The email could not be delivered to')
  }
})

test('six that ask at both at once for one address get five mails', async () => {
  const refs = await Promise.all(ten.slice(4).map(tapped))
  const answers = await Promise.all(refs.map((ref, n) => send(n, { ref, email: 'flood@example.org' })))
  const good = answers.filter(({ status }) => status === 200)
  expect(good).toHaveLength(5)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
  await newestTo('flood@example.org', 5)
})
