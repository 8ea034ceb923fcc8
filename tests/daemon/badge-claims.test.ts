import { describe, expect, test, vi } from 'vitest'
import { dryRunPrefix } from '../../src/values/repeating.ts'
import { openPoapApp, wallet } from '../support/badges.ts'
import { type Fault, faults } from '../support/poap/faults.ts'

const claimUrl = 'POST /actions/claim-qr'
const lookUpUrl = 'GET /actions/claim-qr'
type Test = Awaited<ReturnType<typeof openPoapApp>>
type Event = Awaited<ReturnType<Test['event']>>
const claimedBy = ({ poap }: Test, event: Event) =>
  poap.event(event.upstreamId).codes.flatMap(({ claim }) => (claim ? [claim.beneficiary.toLowerCase()] : []))
async function listed(t: Test, id: number) {
  const { body } = await t.call('GET /admin/badge-events')
  return body.find((one: { id: number }) => one.id === id)
}
const claims = async (t: Test, event: Event) =>
  (await t.call(`GET /admin/badge-events/${event.id}/claims`)).body
const notFound = (more: object = { statusCode: 404, error: 'Not Found' }): Fault =>
  faults.status(404, { ...more, message: 'Not Found' })

test('POAP mints on Gnosis, so an address may name that chain and no other', async () => {
  const t = await openPoapApp()
  const event = await t.event()
  const code = await event.code()
  const mint = (recipient: string) => t.mint(code, { recipient, poapEventId: event.id })
  expect(await mint(`eth:${wallet(1)}`)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('names chain 1 (eth), and this token is on chain 100 (gno)') },
  })
  expect((await mint(`gno:${wallet(1)}`)).status).toBe(200)
  expect(claimedBy(t, event)).toEqual([wallet(1)])
})

test('a dry run of a mint that is under way asks POAP nothing, and does not end it', async () => {
  const t = await openPoapApp()
  const event = await t.event()
  const code = await event.code()
  const mint = (prefix = '') =>
    t.app.inject({
      ...{ method: 'POST', url: `${prefix}/badge-events/mint` },
      headers: { 'x-svc-code': code, 'idempotency-key': 'once' },
      payload: { recipient: wallet(1), poapEventId: event.id },
    })
  const dry = async () => {
    const { statusCode, body } = await mint(dryRunPrefix)
    return [statusCode, body]
  }
  const passed = [200, '{"dryRun":true,"checked":"all"}']
  expect(await dry()).toEqual(passed)
  expect([await t.isGood(code), claimedBy(t, event)]).toEqual([true, []])
  t.poap.fail(claimUrl, faults.status(500))
  expect((await mint()).statusCode).toBe(503)
  const settle = vi.spyOn(t.ctx.badges.settler, 'settle')
  expect(await dry()).toEqual(passed)
  expect(settle).not.toHaveBeenCalled()
  expect((await mint()).statusCode).toBe(200)
  expect(claimedBy(t, event)).toEqual([wallet(1)])
})

describe('one OTP, one badge', () => {
  /** A claim that POAP carried out, and whose answer and look-up did not come. */
  async function leftOpen(fault: Fault = faults.dropAfter) {
    const t = await openPoapApp()
    const event = await t.event()
    const code = await event.code()
    const mint = () => t.mint(code, { recipient: wallet(1), poapEventId: event.id })
    t.poap.fail(claimUrl, fault)
    // The look-up before the claim is right, the one after it is not.
    const lookUp = vi
      .spyOn(t.ctx.badges.providers.current, 'lookUp')
      .mockResolvedValue({ kind: 'unavailable', retryAfterMs: 1_000, reason: 'test' })
    expect((await mint()).status).toBe(503)
    lookUp.mockRestore()
    return { t, event, mint }
  }

  test('a code that POAP does not find any more stays with its claim', async () => {
    const { t, event, mint } = await leftOpen()
    t.poap.fail(lookUpUrl, notFound())
    expect((await mint()).status).toBe(503)
    expect(await claims(t, event)).toMatchObject([{ state: 'open' }])
    expect((await mint()).status).toBe(200)
    expect(claimedBy(t, event)).toEqual([wallet(1)])
    expect((await listed(t, event.id)).remainingCodesCount).toBe(4)
  })

  test('a code that is claimed, nobody says by whom, is ours', async () => {
    const { t, event, mint } = await leftOpen()
    t.poap.style.names = 'hidden'
    expect((await mint()).status).toBe(200)
    expect(claimedBy(t, event)).toEqual([wallet(1)])
    expect(await claims(t, event)).toMatchObject([{ state: 'claimed' }])
  })

  test.each([408, 409, 423, 425, 499])(
    '%i to a claim: it may have arrived, and is looked up',
    async (status) => {
      const t = await openPoapApp()
      const event = await t.event()
      const [first = ''] = event.codes
      t.poap.fail(claimUrl, faults.status(status))
      const code = await event.code()
      const mint = () => t.mint(code, { recipient: wallet(1), poapEventId: event.id })
      expect((await mint()).status).toBe(503)
      // It arrived all the same.
      t.poap.ledger.claim(t.poap.code(first), wallet(1), false)
      expect((await mint()).status).toBe(200)
      expect(claimedBy(t, event)).toEqual([wallet(1)])
    },
  )

  test.each([['You already minted a POAP for this drop.'], ['QR Claim is not active']])(
    'sent, then refused with "%s", while the first one arrived: it is minted',
    async (message) => {
      const { t, event, mint } = await leftOpen(faults.dropBefore)
      const [first = ''] = event.codes
      t.poap.fail(claimUrl, faults.status(400, { statusCode: 400, error: 'Bad Request', message }))
      const provider = t.ctx.badges.providers.current
      const claim = provider.claim.bind(provider)
      vi.spyOn(provider, 'claim').mockImplementationOnce(async (...given) => {
        const answer = await claim(...given)
        t.poap.ledger.claim(t.poap.code(first), wallet(1), false)
        return answer
      })
      expect((await mint()).status).toBe(200)
      expect(claimedBy(t, event)).toEqual([wallet(1)])
      expect(await claims(t, event)).toMatchObject([{ state: 'claimed' }])
    },
  )

  test('killed between the next code and its answer, the next start looks it up first', async () => {
    const t = await openPoapApp()
    const event = await t.event()
    const [first = '', second = ''] = event.codes
    t.poap.ledger.claim(t.poap.code(first), wallet(9), false)
    const provider = t.ctx.badges.providers.current
    const claim = provider.claim.bind(provider)
    let isSent: unknown
    vi.spyOn(provider, 'claim').mockImplementation(async (code, ...given) => {
      const answer = await claim(code, ...given)
      if (code === second) {
        // What a daemon that is killed now finds at its next start.
        const row = await t.ctx.db.read.selectFrom('badgeClaims').selectAll().executeTakeFirstOrThrow()
        isSent = { codeNumber: row.codeNumber, isSent: row.isSent }
      }
      return answer
    })
    expect((await t.mint(await event.code(), { recipient: wallet(1), poapEventId: event.id })).status).toBe(
      200,
    )
    expect(isSent).toEqual({ codeNumber: 2, isSent: 1 })
  })
})
