import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress, parseGwei } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalsForTest } from '../support/phygitals.ts'
import { openRemoteChain } from '../support/remote-chain.ts'
import { acmeKey } from '../support/seeds.ts'

const isUsed = async (p: Phygitals, code: string): Promise<boolean> =>
  (await p.ask(`/otps/${code}`)).body.isExpired

/** Puts code at an address of the embedded chain. */
const setCode = (p: Phygitals, address: string, code: string) =>
  p.ctx.chains.embedded?.request({ method: 'anvil_setCode', params: [address, code] })

describe('a claim whose bytes somebody else sends first', () => {
  test('has had its effect, and does not undo a later transfer', async () => {
    const chain = await openRemoteChain({ confirmations: 3 })
    onTestFinished(() => chain.close())
    const p = await chain.open()
    onTestFinished(() => p.close())
    await p.settled()
    const send = (recipient: string) =>
      p.ask('/phygitals/transfer', { ...p.token('JKT', 1), chainId: 7, recipient }, { key: acmeKey })
    const { client } = p.ctx.chains.get(7)
    const owner = () => ownerOf(client, p.addressOf('JKT'), 1n)
    chain.mining(false)
    const first = await send(bob)
    const { input, to } = await client.getTransaction({ hash: first.body.initialTxHash })
    const copier = privateKeyToAccount(`0x${'71'.repeat(32)}`)
    await chain.rpc('anvil_setBalance', [copier.address, '0xde0b6b3a7640000'])
    const raw = await copier.signTransaction({
      chainId: 7,
      nonce: 0,
      to,
      data: input,
      gas: 300_000n,
      maxFeePerGas: parseGwei('90'),
      maxPriorityFeePerGas: parseGwei('80'),
    })
    await chain.rpc('eth_sendRawTransaction', [raw])
    await chain.rpc('anvil_mine', ['0x1'])
    expect(await owner()).toBe(getAddress(bob))
    expect((await send(carol)).status).toBe(200)
    await chain.rpc('anvil_mine', ['0x1'])
    expect(await owner()).toBe(getAddress(carol))
    chain.mining(true)
    await p.settled()
    expect(await owner()).toBe(getAddress(carol))
    const moves = (await p.transactions()).filter(({ topic }) => topic !== null)
    expect(moves).toMatchObject([
      { state: 'confirmed', signings: 1, reason: expect.stringMatching(/by another transaction/) },
      { state: 'confirmed', signings: 1 },
    ])
  })
})

describe('a recipient with code of its own', () => {
  // Reverts while it is paid for and slot 0 is empty: a trial run passes, the transaction does not.
  const waiting = '0x3a15600e57600054600e575f5ffd5b63150b7a0260e01b5f5260205ff3'

  test('cannot hold its transfer back until a later one is done', async () => {
    const p = await phygitalsForTest()
    const address = '0x00000000000000000000000000000000000c0de1'
    await setCode(p, address, waiting)
    const send = (recipient: string) =>
      p.ask('/phygitals/transfer', { ...p.token('JKT', 1), recipient }, { key: acmeKey })
    expect((await send(address)).status).toBe(200)
    expect((await send(carol)).status).toBe(200)
    expect(await p.owner('JKT', 1)).toBe(getAddress(carol))
    const moves = (await p.transactions()).slice(-2)
    expect(moves.map(({ state }) => state)).toEqual(['reverted', 'confirmed'])
    expect(moves[0]?.reason).toMatch(/superseded by transaction/)
  })

  test('that needs more gas than usual gets it, up to the limit; beyond it is refused before the code is used', async () => {
    const p = await phygitalsForTest()
    const address = '0x00000000000000000000000000000000000c0de2'
    const code = await p.code(chips.jacket(2))
    const pull = () => p.ask('/phygitals/transfer/pullable', { recipient: address }, { code })
    /** Stores to so many slots before it accepts, for 22,100 each. */
    const storing = (slots: number) => {
      const stores = Array.from(
        { length: slots },
        (_, n) => `600160${(n + 1).toString(16).padStart(2, '0')}55`,
      )
      return setCode(p, address, `0x${stores.join('')}63150b7a0260e01b5f5260205ff3`)
    }
    await storing(110)
    const { status, body } = await pull()
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'simulation_reverted' })
    expect(body.message).toMatch(/TAPCHIP_MAX_GAS_31337 allows 2,000,000\. Nothing was used up/)
    expect(await isUsed(p, code)).toBe(false)
    await storing(25)
    expect((await pull()).status).toBe(200)
    expect(await p.owner('JKT', 2)).toBe(getAddress(address))
  })

  test('is quoted in a line, whatever it says', async () => {
    const p = await phygitalsForTest()
    const address = '0x00000000000000000000000000000000000c0de3'
    // Reverts with 96,000 bytes of memory.
    await setCode(p, address, '0x620177005ffd')
    const { status, body } = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 3), recipient: address },
      { key: acmeKey },
    )
    expect(status).toBe(400)
    expect(JSON.stringify(body).length).toBeLessThan(1000)
  })
})

describe('keys that were changed', () => {
  test('are told before a code is used up for nothing', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-keys-'))
    const first = await openPhygitals({ dataDir })
    const code = await first.code(chips.jacket(1))
    await first.close()
    const second = await phygitalsForTest({
      dataDir,
      env: { TAPCHIP_SIGN_VERIFIER_KEY_31337: `0x${'99'.repeat(32)}` },
    })
    const { status, body } = await second.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect({ status, message: body.message }).toEqual({
      status: 409,
      message: expect.stringMatching(/trusts the sign verifier/),
    })
    expect(await isUsed(second, code)).toBe(false)
    rmSync(dataDir, { recursive: true })
  })
})

describe('codes of chips without a token', () => {
  test('used at the same moment mint a token each', async () => {
    const p = await phygitalsForTest()
    const codes = await Promise.all([1, 2, 3, 4].map((n) => p.code(chips.unminted(n))))
    const answers = await Promise.all(
      codes.map((code) => p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await p.settled()
    const rows = await p.ctx.db.read
      .selectFrom('tokens')
      .select('tokenId')
      .where('tokenId', 'in', ['22', '23', '24', '25'])
      .execute()
    expect(rows).toHaveLength(4)
  })

  test('on a contract that says of every token that somebody has it get an end to the search', async () => {
    const p = await phygitalsForTest()
    const liar = '0x00000000000000000000000000000000000c0de4'
    // Answers every question with the same address.
    await setCode(p, liar, `0x73${carol.slice(2)}5f5260205ff3`)
    await p.ctx.db.write((trx) =>
      trx
        .updateTable('contracts')
        .set({ address: getAddress(liar), transactionId: null })
        .where('symbol', '=', 'JKT')
        .execute(),
    )
    const code = await p.code(chips.unminted(1))
    const { status, body } = await p.ask('/phygitals/transfer/pullable', { recipient: bob }, { code })
    expect({ status, message: body.message }).toEqual({
      status: 409,
      message: expect.stringMatching(/No free token ID/),
    })
    expect(await isUsed(p, code)).toBe(false)
  })
})
