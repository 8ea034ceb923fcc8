import { type Address, concat, getContractAddress, type Hex, keccak256, stringToBytes } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Attacked, openAttacked } from '../support/attacked-daemon.ts'
import { until } from '../support/from-outside.ts'
import { bob } from '../support/phygitals.ts'
import { openRemoteChain, type RemoteChain, remoteRelayer } from '../support/remote-chain.ts'
import { acmeKey, derived } from '../support/seeds.ts'

// A stranger who is first at the address where a team's contract will be.

const chainId = 7
const uid = '04DE5F1EACC040'
const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      chipGroups: [{ name: 'Jackets', chips: [{ uid, keySet: 101 }] }],
    },
  ],
}

let chain: RemoteChain
let t: Attacked
beforeAll(async () => {
  chain = await openRemoteChain({ chainId })
  t = await openAttacked({ seed, env: chain.env })
})
afterAll(async () => {
  await t?.close()
  await chain?.close()
})

const mallory: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Says that Mallory owns it, verifies for it, and has each of its tokens. */
const hers: Hex = `0x73${mallory.slice(2)}5f5260205ff3`
/** Leaves that at its address. */
const creationOfHers: Hex = `0x60${(hers.length / 2 - 1).toString(16)}8060095f395ff3${hers.slice(2)}`

const called = async (to: string, data: string): Promise<Hex> => {
  const answer = await chain.rpc('eth_call', [{ to, data }, 'latest'])
  return String(answer) as Hex
}
const asMallory = async (to: Address, data: Hex) => {
  await chain.rpc('anvil_setBalance', [mallory, '0xde0b6b3a7640000'])
  await chain.rpc('anvil_impersonateAccount', [mallory])
  await chain.rpc('eth_sendTransaction', [{ from: mallory, to, data, gas: '0x4c4b40' }])
}

const deploy = async (symbol: string) => {
  const body = { team: 'Acme', symbol, name: 'Jackets', chainId }
  const deployed = await t.ask('/admin/contracts/deploy', { headers: t.admin, body })
  expect(deployed.status).toBe(200)
  return deployed.body as { id: number; address: Address; transactionId: number }
}
const contract = async (symbol: string) => {
  const { body } = await t.ask('/admin/contracts?team=Acme', { headers: t.admin })
  return (body as { symbol: string; status: string; address: Address }[]).find((one) => one.symbol === symbol)
}
const settled = (transactionId: number) =>
  until('the deployment is settled', async () => {
    const { body } = await t.ask(`/admin/transactions/${transactionId}`, { headers: t.admin })
    return body?.settledAt ?? undefined
  })

test('cannot guess it: what is deployed is the team’s, and so are the tokens that are minted there', async () => {
  const { instance } = (await t.ask('/healthz')).body
  // Whoever knew team and symbol could make this, and put a contract of their own there.
  const factory: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
  const salt = keccak256(stringToBytes(JSON.stringify(['tapchip', instance, chainId, 'Acme', 'JKT'])))
  const proxyCode: Hex = '0x67363d3d37363d34f03d5260086018f3'
  const proxy = getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecode: proxyCode })
  const guessed = getContractAddress({ opcode: 'CREATE', from: proxy, nonce: 1n })
  await asMallory(factory, concat([salt, proxyCode]))
  await until('her proxy is there', async () => (await codeAt(proxy)) !== '0x' || undefined)
  await asMallory(proxy, creationOfHers)
  await until('her contract is there', async () => (await codeAt(guessed)) !== '0x' || undefined)

  const { transactionId } = await deploy('JKT')
  await settled(transactionId)
  const ours = await contract('JKT')
  expect(ours?.status).toBe('confirmed')
  const address = ours?.address ?? mallory
  expect(await codeAt(address)).not.toBe(hers)
  // owner()
  expect(await called(address, '0x8da5cb5b')).toBe(word(remoteRelayer.address))

  const token = { contractAddress: address, chainId, tokenId: '1' }
  await t.ask(`/admin/chips/${uid}/link`, { headers: t.admin, body: { token } })
  const minted = await t.ask('/phygitals/transfer', {
    headers: { 'x-svc-api-key': acmeKey },
    body: { ...token, recipient: bob },
  })
  expect(minted.status).toBe(200)
  // ownerOf(1)
  const ownerOf = () => called(address, `0x6352211e${'1'.padStart(64, '0')}`).catch(() => 'nobody')
  await until('Bob has his token', async () => (await ownerOf()) === word(bob) || undefined)
})

test.each([
  ['another contract', async () => hers],
  ['a copy of the code, which is nobody’s', async () => codeAt((await contract('JKT'))?.address ?? mallory)],
])('who is there by any means, with %s, is not taken for the team’s contract', async (what, code) => {
  chain.mining(false)
  const symbol = what.startsWith('a copy') ? 'COPY' : 'OTHER'
  const { address, transactionId } = await deploy(symbol)
  await chain.rpc('anvil_setCode', [address, await code()])
  chain.mining(true)
  await settled(transactionId)
  expect((await contract(symbol))?.status).not.toBe('confirmed')
  const token = { contractAddress: address, chainId, tokenId: '5' }
  await t.ask(`/admin/chips/${uid}/link`, { headers: t.admin, body: { token } })
  const moved = await t.ask('/phygitals/transfer', {
    headers: { 'x-svc-api-key': acmeKey },
    body: { ...token, recipient: bob },
  })
  expect(moved.status).toBeGreaterThanOrEqual(400)
  expect(moved.status).toBeLessThan(500)
})

test('a stranger’s contract that is registered is shown for what it is', async () => {
  await chain.rpc('anvil_setCode', ['0x00000000000000000000000000000000000BAD00', hers])
  const registered = await t.ask('/admin/contracts', {
    headers: t.admin,
    body: {
      team: 'Acme',
      symbol: 'REG',
      name: 'R',
      chainId,
      address: '0x00000000000000000000000000000000000BAD00',
    },
  })
  expect(registered.body).toMatchObject({
    trustsSignVerifier: false,
    warnings: expect.arrayContaining([expect.stringContaining(mallory)]),
  })
})

const word = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
async function codeAt(address: string): Promise<Hex> {
  const answer = await chain.rpc('eth_getCode', [address, 'latest'])
  return String(answer) as Hex
}
