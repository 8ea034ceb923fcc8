import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { insertTransaction } from '../../src/daemon/store/chain/intents.ts'
import { tokenTopic } from '../../src/daemon/store/phygitals/tokens.ts'
import { bob, carol, chips, type Phygitals } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'
import { Browser } from '../support/tap-browser.ts'
import { openTeamToken, type TeamToken, teamTokenOf } from '../support/team-token.ts'

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

  test('moves a token by a code', async () => {
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

describe('on the tap page and by codes', () => {
  let p: Phygitals
  let t: TeamToken
  beforeAll(async () => {
    ;({ p, t } = await openTeamToken())
  })
  afterAll(() => p.close())
  const moves = async () => (await p.transactions()).filter(({ topic }) => topic?.includes(t.address))
  const owner = async (id: number) => {
    await p.settled()
    return ownerOf(p.ctx.chains.get(31337).client, t.address, BigInt(id))
  }

  test('a claim is one transaction, however often the button is pressed', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.art(1), 1)
    const ten = await Promise.all(
      Array.from({ length: 10 }, () => browser.press(page, { kind: 'claim', recipient: bob })),
    )
    expect(ten.map(({ status }) => status)).toEqual(ten.map(() => 200))
    expect(await owner(1)).toBe(getAddress(bob))
    expect(await moves()).toMatchObject([{ state: 'confirmed', signings: 1 }])
    expect(await browser.states(page)).toMatchObject({ 'claim-0': { is: 'confirmed' } })
  })

  test('keeps the words of a contract from the page', async () => {
    await t.mint(4)
    await t.link(chips.jacket(4), 4)
    await t.behave('closed')
    const browser = new Browser(p)
    const refused = await browser.press(await browser.tap(chips.jacket(4), 1), {
      kind: 'claim',
      recipient: bob,
    })
    await t.behave('normal')
    expect(refused).toMatchObject({ status: 400, state: 'failed' })
    expect(refused.html).toContain('Nothing was sent or used up')
    expect(refused.html).not.toMatch(/holiday|cast send/)
  })

  test('leaves a code good where the owner has moved the token to somebody who approved nothing', async () => {
    const code = await p.code(chips.art(2))
    await t.move(carol, 2)
    const refused = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(refused).toMatchObject({ status: 400, body: { code: 'simulation_reverted' } })
    expect(refused.body.message).not.toContain('cast send')
    expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    const asked = { ...t.token(2), recipient: bob }
    const byTeam = await p.ask('/phygitals/transfer', asked, { key: acmeKey })
    expect(byTeam.body.message).toContain(`The owner ${getAddress(carol)} has not approved the relayer`)
  })

  test('takes two transfers of a token under way, and no third', async () => {
    const token = t.token(3)
    const under = async (recipient: string) =>
      p.ctx.db.write((trx) =>
        insertTransaction(trx, {
          ...{ teamId: null, chainId: 31337, signer: 'nobody', candidates: null, kind: 'phygital-transfer' },
          ...{ topic: tokenTopic(token), subject: JSON.stringify({ ...token, recipient }), sequence: null },
          ...{
            createdAt: new Date(0).toISOString(),
            to: null,
            data: null,
            gas: null,
            builder: null,
            args: null,
          },
        }),
      )
    const ids = [await under(bob), await under(carol)]
    const code = await p.code(chips.art(3))
    const refused = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(refused).toMatchObject({ status: 409, body: { message: expect.stringContaining(ids.join(', ')) } })
    await p.ctx.db.write((trx) => trx.deleteFrom('transactions').where('id', 'in', ids).execute())
    expect((await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })).status).toBe(200)
    expect(await owner(3)).toBe(getAddress(bob))
  })

  test('of ten transfers of a token at once one moves it, once', async () => {
    await t.mint(6)
    await t.link(chips.jacket(6), 6)
    const recipients = Array.from({ length: 10 }, (_, n) =>
      getAddress(`0x${String(n + 1).padStart(40, '7')}`),
    )
    const asked = await Promise.all(
      recipients.map((recipient) =>
        p.ask('/phygitals/transfer', { ...t.token(6), recipient }, { key: acmeKey }),
      ),
    )
    await p.settled()
    const done = (await moves()).filter(
      ({ topic, state }) => topic === tokenTopic(t.token(6)) && state === 'confirmed',
    )
    // Whoever gets it has approved nothing, so that it goes no further.
    expect(done).toMatchObject([{ signings: 1 }])
    expect(asked.filter(({ status }) => status === 200)).not.toHaveLength(0)
    const first = JSON.parse(done[0]?.subject ?? '{}').recipient
    expect(await owner(6)).toBe(first)
  })

  test('two taps register first, then move', async () => {
    const other = await teamTokenOf(p)
    await other.mint(1)
    await other.approve()
    const twoTap = { delaySeconds: 0, windowSeconds: 600 }
    expect((await other.register({ symbol: 'TWO', mint: undefined, twoTap })).status).toBe(200)
    await other.link(chips.jacket(1), 1)
    const [first, move] = [await p.code(chips.jacket(1)), '/phygitals/transfer/pullable']
    expect((await p.ask(move, { recipient: bob }, { code: first })).body.code).toBe('registration_missing')
    const registration = '/phygitals/claim-registration/pullable'
    expect((await p.ask(registration, { recipient: bob }, { code: first })).status).toBe(200)
    const second = await p.code(chips.jacket(1))
    expect((await p.ask(move, { recipient: bob }, { code: second })).status).toBe(200)
    await p.settled()
    expect(await ownerOf(p.ctx.chains.get(31337).client, other.address, 1n)).toBe(getAddress(bob))
  })

  test.each([
    ['has neither owners nor interfaces', 1, '0x5f5ffd'],
    ['says that it has any interface', 2, '0x5f3560e01c6301ffc9a7146011575f5ffd5b60015f5260205ff3'],
    ['says that it has none', 3, '0x5f3560e01c6301ffc9a7146011575f5ffd5b5f5f5260205ff3'],
  ])('a contract that %s mints nothing, so that nothing is minted twice', async (_, n, code) => {
    const abi = ['function mintTo(address to, uint256 tokenId)']
    const address = `0x000000000000000000000000000000000000115${n}`
    await p.ctx.chains.embedded?.request({ method: 'anvil_setCode', params: [address, code] })
    const registered = await t.register({ symbol: `SOME${n}`, address, abi, transfer: undefined })
    const words = expect.stringMatching(/it is no ERC-721/)
    expect(registered.body).toMatchObject({ mints: 'refused', warnings: expect.arrayContaining([words]) })
    const token = { contractAddress: address, chainId: 31337, tokenId: '1' }
    await p.ask(`/admin/chips/${chips.jacket(5)}/link`, { token }, { headers: p.admin })
    const mint = await p.ask('/phygitals/transfer', { ...token, recipient: bob }, { key: acmeKey })
    expect(mint).toMatchObject({ status: 400, body: { message: words } })
  })

  test('what has no function is refused before anything is used up', async () => {
    const other = await teamTokenOf(p)
    await other.mint(1)
    await other.register({ symbol: 'MINTS', transfer: undefined })
    await other.link(chips.jacket(2), 1)
    const code = await p.code(chips.jacket(2))
    const refused = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect(refused).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/without --transfer/) },
    })
    expect((await p.ask(`/otps/${code}`)).body.isExpired).toBe(false)
    const third = await teamTokenOf(p)
    await third.register({ symbol: 'MOVES', mint: undefined })
    await third.link(chips.jacket(3), 9)
    const mint = await p.ask('/phygitals/transfer', { ...third.token(9), recipient: bob }, { key: acmeKey })
    expect(mint).toMatchObject({ status: 409, body: { message: expect.stringMatching(/without --mint/) } })
  })
})
