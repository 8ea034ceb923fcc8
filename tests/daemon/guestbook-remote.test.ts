import { createTestClient, getAddress, http, parseEther } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { openTestApp } from '../support/daemon.ts'
import { guestbookSeed, handsOf, metadata, seeded } from '../support/guestbook.ts'
import { bob, carol } from '../support/phygitals.ts'

// A chain that others run, whose blocks come when they come.

const chainId = 8453
const relayerKey = `0x${'5c'.repeat(32)}` as const
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** @param withoutProxy a chain that lacks what every usual chain has */
async function open({ withoutProxy = false } = {}) {
  const anvil: Anvil = await startAnvil([
    '--no-mining',
    '--chain-id',
    String(chainId),
    ...(withoutProxy ? ['--disable-default-create2-deployer'] : []),
  ])
  closing.push(() => anvil.kill())
  const chain = createTestClient({ mode: 'anvil', transport: http(anvil.url) })
  await chain.setBalance({ address: privateKeyToAddress(relayerKey), value: parseEther('10') })
  const t = await openTestApp({
    seed: guestbookSeed,
    env: {
      [`TAPCHIP_RPC_${chainId}`]: anvil.url,
      [`TAPCHIP_RELAYER_KEY_${chainId}`]: relayerKey,
      [`TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`]: `0x${'5d'.repeat(32)}`,
    },
  })
  closing.push(() => t.close())
  t.ctx.start()
  return { ...handsOf(t), anvil, chain, deployment: { name: 'Far', symbol: 'BASE', chainId } }
}

test('a mint is answered with its hash while the contract is pending, and has its effect when the blocks come', async () => {
  const r = await open()
  const { contractId } = (await r.ask('/events/contracts', r.deployment)).body
  const event = { name: 'First', tokenId: '1', contractId, metadata: metadata('First') }
  const { id: eventId } = (await r.ask('/events', event)).body
  const minted = await r.ask('/events/mint', { eventId, recipient: bob })
  expect(minted).toMatchObject({ status: 200, body: { txnHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) } })
  expect((await r.ask('/events/contracts')).body.at(-1)).toMatchObject({ status: 'pending', address: null })
  // Confirmed by the second block on top of it.
  await r.chain.mine({ blocks: 3 })
  await r.settled()
  const { address } = (await r.ask('/events/contracts')).body.at(-1)
  const held = await r.ctx.chains.get(chainId).client.readContract({
    abi: guestbookAbi,
    address: getAddress(address),
    functionName: 'balanceOf',
    args: [bob, 1n],
  })
  expect(held).toBe(1n)
})

test('a chain that does not answer is a 503: nothing is recorded, and the code is good', async () => {
  const r = await open()
  const { contractId } = (await r.ask('/events/contracts', r.deployment)).body
  const event = { name: 'First', tokenId: '1', contractId, metadata: metadata('First') }
  const { id: guestbookEventId } = (await r.ask('/events', event)).body
  await r.ask('/events/assign/legacy', { tagUIDs: [seeded.blank(1)], guestbookEventId })
  const code = await r.code(seeded.blank(1))
  await r.anvil.kill()
  const before = (await r.transactions()).length
  const answers = [
    await r.ask('/events/mint/self', { recipient: carol }, { code }),
    await r.ask('/events/mint', { eventId: guestbookEventId, recipient: carol }),
    await r.ask('/events/toggle-pause-state', { contractId, pauseState: true }),
    await r.ask('/events', { ...event, tokenId: '2' }),
    await r.ask('/events/contracts', { ...r.deployment, symbol: 'NEXT' }),
  ]
  for (const { status, body, headers } of answers)
    expect({ status, code: body.code, retry: headers['retry-after'] }).toEqual({
      status: 503,
      code: 'chain_unavailable',
      retry: '5',
    })
  expect((await r.transactions()).length).toBe(before)
  expect((await r.ask(`/otps/${code}`)).body.isExpired).toBe(false)
  // What needs the store alone goes on, and is announced when the chain is back.
  const change = { eventId: guestbookEventId, metadata: metadata('Second') }
  expect((await r.ask('/events/metadata', change, { method: 'PATCH' })).status).toBe(200)
})

test('a chain without the deployment proxy is refused, where a deployment would seem to go well', async () => {
  const r = await open({ withoutProxy: true })
  const { status, body } = await r.ask('/events/contracts', r.deployment)
  expect({ status, message: body.message }).toEqual({
    status: 409,
    message: expect.stringMatching(/no deterministic deployment proxy/),
  })
  expect(
    (await r.ask('/events/contracts')).body.map(({ symbol }: { symbol: string }) => symbol),
  ).not.toContain('BASE')
})
