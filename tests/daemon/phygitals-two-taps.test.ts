import { getAddress } from 'viem'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestClock, testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey, alice, derived, otherKey } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let clock: TestClock
let p: Phygitals
const opened: Phygitals[] = []
beforeEach(async () => {
  clock = testClock()
  p = await openPhygitals({ clock })
  opened.push(p)
})
afterAll(() => Promise.all(opened.map((one) => one.close())))

const at = (seconds: number) => new Date(clock.now() + seconds * 1000).toISOString()
const look = async (n: number, recipient: string) =>
  (
    await p.ask(
      `/phygitals/claim-registration?${new URLSearchParams({ ...p.token('ART', n), chainId: '31337', recipient })}`,
    )
  ).body
const register = (code: string, recipient = bob) =>
  p.ask('/phygitals/claim-registration/pullable', { recipient }, { code })
const pull = (code: string, recipient = bob) => p.ask('/phygitals/transfer/pullable', { recipient }, { code })
/** Of the tap after one that did not go through `p`. */
const nextCode = async (uid: string): Promise<string> => {
  await p.refOf(uid)
  return p.code(uid)
}
const isUsed = async (code: string): Promise<boolean> => (await p.ask(`/otps/${code}`)).body.isExpired

/** As daemons beside each other would, that number taps in no order. @returns the code of the first tap, as it is then */
const numberFirstTapLast = () =>
  p.ctx.db.write(async (trx) => {
    const { id, at } = await trx
      .selectFrom('taps')
      .select(['id', 'at'])
      .orderBy('counter')
      .limit(1)
      .executeTakeFirstOrThrow()
    const moved = id + 1_000_000
    await trx.updateTable('taps').set({ id: moved }).where('id', '=', id).execute()
    return p.ctx.seals.code({ id: moved, at }, 0)
  })

describe('a token that asks for two taps', () => {
  test('goes to whom one tap registered and a later one names, once the delay is over', async () => {
    const first = await p.code(chips.art(1))
    expect((await pull(first)).body).toMatchObject({ statusCode: 409, code: 'registration_missing' })
    const registered = await register(first)
    expect(registered).toMatchObject({
      status: 200,
      body: {
        recipient: getAddress(bob),
        linkedToken: { ...p.token('ART', 1), chainId: '31337' },
        allowedAt: at(60),
        expiresAt: at(660),
        createdAt: at(0),
      },
    })
    expect(await isUsed(first)).toBe(true)
    expect(await look(1, bob)).toMatchObject({ isRequired: true, isValid: false, allowedAt: at(60) })

    const second = await p.code(chips.art(1))
    expect((await pull(second)).body).toMatchObject({ statusCode: 409, code: 'registration_early' })
    clock.advance('60s')
    expect(await look(1, bob)).toMatchObject({ isRequired: true, isValid: true })
    expect((await pull(second, carol)).body).toMatchObject({ statusCode: 409, code: 'registration_missing' })
    expect(await isUsed(second)).toBe(false)
    expect((await pull(second)).status).toBe(200)
    expect(await p.owner('ART', 1)).toBe(getAddress(bob))
    // It is used up with the transfer.
    expect(await look(1, bob)).toMatchObject({ isValid: false, allowedAt: null, createdAt: null })
  })

  test('takes the later tap by the counter of the chip, and not by the number that the database gave', async () => {
    await p.code(chips.art(1))
    const second = await p.code(chips.art(1))
    const first = await numberFirstTapLast()
    expect((await register(first)).status).toBe(200)
    clock.advance('60s')
    expect((await pull(second)).status).toBe(200)
  })

  test('refuses a code of an earlier tap, whatever its number', async () => {
    await p.code(chips.art(1))
    const later = await p.code(chips.art(1))
    const earlier = await numberFirstTapLast()
    expect((await register(later)).status).toBe(200)
    clock.advance('60s')
    expect((await pull(earlier)).body).toMatchObject({ statusCode: 409, code: 'registration_same_tap' })
  })

  describe('asks for another tap: a second code of the tap that registered does not count', () => {
    /** Taps a chip, registers with the code of its page's ref, and queries the ref of a link on the page. */
    const registerAndQueryLink = async (uid: string) => {
      const link = { team: 'Acme', label: 'Care', baseUrl: 'https://care.example/' }
      expect((await p.ask('/admin/links', link, { headers: p.admin })).status).toBe(200)
      const page = await p.app.inject({ url: tapPath(tap(derived, { uid }, 1)) })
      const [own, ofLink] = [...page.body.matchAll(/(?:svcRef=|data-ref=")([A-Za-z0-9_-]{21})/g)]
        .map(([text, ref]) => ({ isLink: text.startsWith('svcRef'), ref }))
        .sort((a, b) => Number(a.isLink) - Number(b.isLink))
      const query = async (ref = '') => (await p.ask(`/refs/${ref}`, undefined, { key: acmeKey })).body
      const { linkedToken, otp = linkedToken?.otp } = await query(own?.ref)
      expect((await register(otp)).status).toBe(200)
      clock.advance('60s')
      const again = await query(ofLink?.ref)
      expect(again.isValidRef).toBe(true)
      return (again.linkedToken?.otp ?? again.otp) as string
    }

    test('of a token: it stays good for whoever registers anew', async () => {
      const twin = await registerAndQueryLink(chips.art(1))
      expect((await pull(twin)).body).toMatchObject({ statusCode: 409, code: 'registration_same_tap' })
      expect(await isUsed(twin)).toBe(false)
      expect(await p.owner('ART', 1)).toBe(getAddress(alice))
      // Another tap is all that is missing.
      expect((await pull(await nextCode(chips.art(1)))).status).toBe(200)
    })

    test('of a chip whose token the first one named: it stays good for whoever registers anew', async () => {
      await p.ctx.db.write((trx) =>
        trx.updateTable('contracts').set({ twoTapDelaySeconds: 60, twoTapWindowSeconds: 600 }).execute(),
      )
      const twin = await registerAndQueryLink(chips.unminted(1))
      expect((await pull(twin)).body).toMatchObject({ statusCode: 409, code: 'registration_same_tap' })
      expect(await isUsed(twin)).toBe(false)
      expect((await pull(await nextCode(chips.unminted(1)))).status).toBe(200)
    })
  })

  test('lets a registration expire', async () => {
    await register(await p.code(chips.art(1)))
    clock.advance('661s')
    const late = await p.code(chips.art(1))
    expect((await pull(late)).body).toMatchObject({ statusCode: 409, code: 'registration_expired' })
    expect(await isUsed(late)).toBe(false)
    // Registering again starts anew.
    expect((await register(late)).body.allowedAt).toBe(at(60))
  })

  test('holds signatures by code to the same', async () => {
    const ask = (code: string) =>
      p.ask(`/phygitals/transfer-signature/pullable?recipient=${bob}`, undefined, { code })
    const first = await p.code(chips.art(2))
    expect((await ask(first)).status).toBe(409)
    await register(first)
    clock.advance('60s')
    const second = await p.code(chips.art(2))
    expect((await ask(second)).body).toMatchObject({ signature: expect.stringMatching(/^0x/) })
    expect(await isUsed(second)).toBe(true)
  })

  test("is the team's to move by key, without a registration", async () => {
    const { status } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('ART', 3), recipient: carol },
      { key: acmeKey },
    )
    expect(status).toBe(200)
    expect(await p.owner('ART', 3)).toBe(getAddress(carol))
  })

  test('answers a lost registration again by its Idempotency-Key, so that no tap is needed for it', async () => {
    const code = await p.code(chips.art(1))
    const keyed = (recipient: string) =>
      p.ask(
        '/phygitals/claim-registration/pullable',
        { recipient },
        { code, headers: { 'idempotency-key': 'first-tap' } },
      )
    const answers = await Promise.all(Array.from({ length: 10 }, () => keyed(bob)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(answers[0]?.body).toMatchObject({ recipient: getAddress(bob), allowedAt: at(60) })
    clock.advance('60s')
    // The answer was kept by the write that registered; only the first was.
    expect(await keyed(bob)).toMatchObject({ status: 200, body: answers[0]?.body })
    expect((await keyed(carol)).body).toMatchObject({ statusCode: 409, code: 'idempotency_conflict' })
    expect((await register(code)).body).toMatchObject({ statusCode: 401, code: 'otp_used' })
    expect((await pull(await p.code(chips.art(1)))).status).toBe(200)
    expect(await look(1, bob)).toMatchObject({ createdAt: null })
    expect((await keyed(bob)).body).toEqual(answers[0]?.body)
  })

  test('registers one recipient for one code, of ten at once', async () => {
    const code = await p.code(chips.art(1))
    const answers = await Promise.all(Array.from({ length: 10 }, () => register(code)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
  })
})

describe('registrations by key', () => {
  test('are created, seen, deleted, and belong to the team', async () => {
    const body = { ...p.token('ART', 1), recipient: 'bob.eth' }
    const path = '/phygitals/claim-registration'
    expect((await p.ask(path, body, { key: otherKey })).status).toBe(404)
    expect((await p.ask(path, body, { key: acmeKey })).body).toMatchObject({
      recipient: getAddress(bob),
      allowedAt: at(60),
    })
    expect((await look(1, bob)).createdAt).toBe(at(0))
    expect((await p.ask(path, body, { key: otherKey, method: 'DELETE' })).status).toBe(404)
    expect((await p.ask(path, body, { key: acmeKey, method: 'DELETE' })).body).toEqual({ success: true })
    expect((await p.ask(path, body, { key: acmeKey, method: 'DELETE' })).status).toBe(404)
  })

  test('count for the next tap, whichever it is', async () => {
    const code = await p.code(chips.art(1))
    await p.ask('/phygitals/claim-registration', { ...p.token('ART', 1), recipient: bob }, { key: acmeKey })
    clock.advance('60s')
    expect((await pull(code)).status).toBe(200)
  })

  test('on a contract that asks for no second tap are allowed at once, and not required', async () => {
    const { body } = await p.ask(
      '/phygitals/claim-registration',
      { ...p.token('JKT', 1), recipient: bob },
      { key: acmeKey },
    )
    expect(body.allowedAt).toBe(body.createdAt)
    const seen = await p.ask(
      `/phygitals/claim-registration?${new URLSearchParams({ ...p.token('JKT', 1), chainId: '31337', recipient: bob })}`,
    )
    expect(seen.body).toMatchObject({ isRequired: false, isValid: true, recipient: getAddress(bob) })
  })
})
