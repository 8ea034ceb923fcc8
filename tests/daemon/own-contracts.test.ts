import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { bob, carol, chips, type Phygitals } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'
import { openTeamToken, type TeamToken } from '../support/team-token.ts'

describe('a contract of which the relayer has the approval and a role', () => {
  let p: Phygitals
  let t: TeamToken
  let registered: { transfers: string; mints: string; warnings: string[]; id: number }
  beforeAll(async () => {
    ;({ p, t, registered } = await openTeamToken())
  })
  afterAll(() => p.close())
  const owner = async (id: number | string) => {
    await p.settled()
    return ownerOf(p.ctx.chains.get(31337).client, t.address, BigInt(id))
  }
  const transfer = (id: number, recipient: string) =>
    p.ask('/phygitals/transfer', { ...t.token(id), recipient }, { key: acmeKey })

  test('is registered with what its functions did in a dry call', () => {
    expect(registered).toMatchObject({ transfers: 'works', mints: 'works', warnings: [] })
  })

  test('is shown with the functions as they were given', async () => {
    const shown = await p.ask(`/admin/contracts/${registered.id}`, undefined, { headers: p.admin })
    expect(shown.body).toMatchObject({
      transfer: 'transferFrom(owner,recipient,tokenId)',
      mint: 'mintTo(recipient,tokenId)',
      transfers: 'works',
      mints: 'works',
    })
  })

  test('moves a token by a code, and tells webhooks', async () => {
    const code = await p.code(chips.art(1))
    const answer = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(answer).toMatchObject({ status: 200, body: { success: true } })
    expect(await owner(1)).toBe(getAddress(bob))
    const [last] = (await p.transactions()).slice(-1)
    expect(last).toMatchObject({
      kind: 'phygital-transfer',
      state: 'confirmed',
      signer: 'relayer',
      signings: 1,
    })
  })

  test('refuses a signature, which it could not take, and leaves the code good', async () => {
    const code = await p.code(chips.art(2))
    const signed = await p.ask(
      '/phygitals/transfer-signature/pullable',
      { recipient: bob },
      { code, method: 'GET' },
    )
    expect(signed.status).toBe(409)
    expect(signed.body.message).toMatch(/takes no signed claims/)
    expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(false)
  })

  test('mints a token that nobody has', async () => {
    await t.link(chips.unminted(1), 40)
    expect((await transfer(40, bob)).status).toBe(200)
    expect(await owner(40)).toBe(getAddress(bob))
  })

  test('moves a token to one and on to another in the order of the requests', async () => {
    await t.link(chips.unminted(2), 50)
    const answers = [await transfer(50, t.brand), await transfer(50, carol)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await owner(50)).toBe(getAddress(carol))
  })

  test('refuses a transfer to whom the token belongs already', async () => {
    expect(await transfer(1, bob)).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/belongs to 0x.* already/) },
    })
  })
})
