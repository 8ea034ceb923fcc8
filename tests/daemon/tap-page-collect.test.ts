import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TapPage } from '../../src/daemon/domain/tap-page/content.ts'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { tapPage } from '../../src/daemon/pages/tap/tap-page.ts'
import { allSettled, testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { severalThings } from '../support/several-things.ts'
import { Browser } from '../support/tap-browser.ts'

const now = new Date()
const dora = `0x${'d0'.repeat(20)}`
const gateways = { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' }
const settings = {
  language: 'en',
  nonce: 'n',
  now,
  gateways,
  script: undefined,
  home: 'https://taps.example',
} as const

const pageOf = (state: string): TapPage => {
  const found = samples(now).find((sample) => sample.state === state)
  if (!found || !('page' in found.shows)) throw new Error(`no sample ${state}`)
  return found.shows.page
}

test('the steps of two taps keep forms of their own beside actions that share one', () => {
  const steps = pageOf('two-taps')
  const others = pageOf('everything').actions.filter(({ kind }) => kind !== 'claim')
  const { body } = tapPage({ ...steps, actions: [...steps.actions, ...others] }, settings)
  const found = (pattern: RegExp) => [...body.matchAll(pattern)].map(([, name]) => name)
  expect(found(/data-action="(\w+)"/g)).toEqual(['collect', 'register', 'claim'])
  expect(found(/name="choice" value="([^"]+)"/g)).toEqual(['badge-3', 'guestbook-3'])
})

test('says who loses the piece beside its box too, and not where it is nobody’s', () => {
  const shown = (of: Partial<TapPage>) => tapPage({ ...pageOf('everything'), ...of }, settings).body
  expect(shown({})).toContain('mira.eth loses it')
  const { piece } = pageOf('claim-unminted')
  expect(shown({ piece })).toContain('It is nobody’s yet.')
  expect(shown({ piece })).not.toContain('loses it')
})

describe('several things by one press', () => {
  let p: Phygitals
  beforeAll(async () => {
    p = await openPhygitals({ clock: testClock(), seed: severalThings() })
  })
  afterAll(() => p.close())

  const words = stringsOf({ language: 'en' })
  const choicesIn = (body: string) =>
    [...body.matchAll(/name="choice" value="([^"]+)"/g)].map(([, key = '']) => key)
  type Opened = Awaited<ReturnType<Browser['tap']>>
  const collect = (browser: Browser, page: Opened, recipient: string, more: [string, string][]) =>
    p.app.inject({
      ...{ method: 'POST', url: '/t/act' },
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...browser.headers },
      payload: new URLSearchParams([
        ...Object.entries({ ref: page.ref, tap: page.query, kind: 'collect', recipient }),
        ...more,
      ]).toString(),
    })
  const ticked = (keys: readonly string[]) => keys.map((key): [string, string] => ['choice', key])
  /** What was done for a chip: its token's moves, and what it gave besides. */
  const done = async (uid: string) => {
    const { read } = p.ctx.db
    const tagUID = BigInt(`0x${uid}`).toString()
    const badges = await read
      .selectFrom('badgeClaims')
      .select(['badgeEventId', 'recipient', 'state'])
      .where('chipUid', '=', tagUID)
      .execute()
    const entries = await read
      .selectFrom('guestbookEntries')
      .select('transactionId')
      .where('chipUid', '=', tagUID)
      .execute()
    const moves = (await p.transactions()).filter(({ kind }) => kind === 'phygital-transfer')
    return { badges, entries: entries.length, moves: moves.length }
  }

  test('ten presses at once give each thing once, and their answers agree', async () => {
    const uid = chips.jacket(1)
    const browser = new Browser(p)
    const page = await browser.tap(uid, 1)
    const keys = choicesIn(page.answer.body)
    expect(keys).toHaveLength(4)
    const ten = await Promise.all(Array.from({ length: 10 }, () => collect(browser, page, bob, ticked(keys))))
    // Each leads back to the page, which has an outcome for everything.
    expect(ten.map(({ statusCode, headers }) => [statusCode, headers.location])).toEqual(
      Array.from({ length: 10 }, () => [303, `/t?${page.query}#${keys[0]}-status`]),
    )
    await allSettled(p.ctx)
    const { badges, ...others } = await done(uid)
    expect(badges.map(({ recipient, state }) => [recipient, state])).toEqual(
      Array.from({ length: 2 }, () => [getAddress(bob), 'claimed']),
    )
    expect(others).toEqual({ entries: 1, moves: 1 })
    const states = Object.values(await browser.states(page))
    expect(states).toHaveLength(4)
    for (const state of states) expect(state).toMatchObject({ is: 'confirmed', recipient: getAddress(bob) })
    expect(await p.owner('JKT', 1)).toBe(getAddress(bob))
  })

  test('what is refused says why beside what was given, and pressing again does only what is left', async () => {
    const uid = chips.jacket(2)
    const before = await done(uid)
    const [phone, other] = [new Browser(p), new Browser(p)]
    const first = await phone.tap(chips.jacket(3), 1)
    const badge = choicesIn(first.answer.body).find((key) => key.startsWith('badge')) ?? ''
    const device: [string, string] = ['deviceId', 'phone-1']
    expect((await collect(phone, first, carol, [...ticked([badge]), device])).statusCode).toBe(303)

    const page = await other.tap(uid, 1)
    const keys = choicesIn(page.answer.body)
    const partly = await collect(other, page, dora, [...ticked(keys), device])
    expect(partly.statusCode).toBe(200)
    expect(partly.body).toContain(words.collect.partly)
    // Its own row says why; it alone can be ticked again, and is.
    const row = new RegExp(`data-card="${badge}">[\\s\\S]*?</li>`).exec(partly.body)?.[0]
    expect(row).toContain(words.failures.badge_device_used)
    expect(row).toContain('data-state="failed"')
    expect(choicesIn(partly.body)).toEqual([badge])
    expect(partly.body).toMatch(new RegExp(`value="${badge}"[^>]* checked`))
    expect(partly.body).toContain(`value="${dora}"`)
    await allSettled(p.ctx)
    const { badges, entries, moves } = await done(uid)
    expect([badges.length, entries, moves - before.moves]).toEqual([1, 1, 1])

    // Another tab still has everything ticked, and another phone.
    expect((await collect(other, page, dora, ticked(keys))).statusCode).toBe(303)
    await allSettled(p.ctx)
    const after = await done(uid)
    expect([after.badges.length, after.entries, after.moves]).toEqual([2, 1, moves])
    for (const { recipient } of after.badges) expect(recipient).toBe(getAddress(dora))
    // For somebody else it comes too late, and says so of each thing.
    const late = await collect(other, page, carol, ticked(keys))
    expect(late.statusCode).toBe(409)
    expect(await done(uid)).toEqual(after)
  })

  test('with nothing ticked it says so, and an action that the page has not is refused beside the others', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(4), 1)
    const nothing = await collect(browser, page, `0x${'e0'.repeat(20)}`, [])
    expect(nothing.statusCode).toBe(400)
    expect(nothing.body).toContain(words.collect.nothing)
    const badge = choicesIn(page.answer.body).find((key) => key.startsWith('badge')) ?? ''
    const answer = await collect(
      browser,
      page,
      `0x${'e0'.repeat(20)}`,
      ticked([badge, 'badge-999', 'badge-999']),
    )
    expect(answer.statusCode).toBe(200)
    expect((await done(chips.jacket(4))).badges).toHaveLength(1)
  })
})
