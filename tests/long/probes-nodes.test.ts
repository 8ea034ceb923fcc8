import { encodeAbiParameters, stringToHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { mainnet } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type Attacked, openAttacked } from '../support/attacked-daemon.ts'
import { send, until } from '../support/from-outside.ts'
import { type HostileNode, type Misbehaviour, openHostileNode } from '../support/hostile-node.ts'
import { bob, carol, chipUid } from '../support/phygitals.ts'
import { askNode } from '../support/relayer.ts'
import { acmeKey, alice, derived, tokenSeed } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// A node that others run, and strangers who have it asked.

const relayerKey = `0x${'71'.repeat(32)}` as const
const count = 40
const seed = tokenSeed(count, (n) => ({ uid: chipUid(n), owner: n <= count / 2 ? alice : undefined }), 1)
const key = { 'x-svc-api-key': acmeKey }

let anvil: Anvil
let node: HostileNode
let t: Attacked
let jackets: string
beforeAll(async () => {
  // The main chain's id, for its names.
  anvil = await startAnvil(['--block-time', '1', '--chain-id', '1'])
  node = await openHostileNode(anvil.url)
  await askNode(anvil.url, 'anvil_setBalance', [privateKeyToAddress(relayerKey), '0x8ac7230489e80000'])
  t = await openAttacked({
    seed,
    env: {
      TAPCHIP_RPC_1: node.url,
      TAPCHIP_CONFIRMATIONS_1: '1',
      TAPCHIP_RELAYER_KEY_1: relayerKey,
      TAPCHIP_SIGN_VERIFIER_KEY_1: `0x${'72'.repeat(32)}`,
      TAPCHIP_DEV_CHAIN: 'off',
      TAPCHIP_RATE_LIMIT: 'off',
    },
  })
  jackets = await until('the contract is there', async () => {
    const { body } = await t.ask('/admin/contracts?team=Acme', { headers: t.admin })
    return body[0].status === 'confirmed' ? body[0].address : undefined
  })
  await until('Alice has her tokens', () => belongsTo(alice, count / 2))
}, 120_000)
afterAll(async () => {
  await t?.close()
  await node?.close()
  await anvil?.kill()
})
afterEach(() => {
  node.misbehave = undefined
})

const token = (n: number) => ({ contractAddress: jackets, chainId: 1, tokenId: String(n) })
const transfer = (n: number, recipient: string = bob, timeoutMs = 60_000) =>
  t.ask('/phygitals/transfer', { headers: key, body: { ...token(n), recipient }, timeoutMs })
/** By the chain itself; undefined: it is another's, or nobody's yet. */
const belongsTo = async (owner: string, n: number): Promise<true | undefined> => {
  const data = `0x6352211e${n.toString(16).padStart(64, '0')}`
  const found = await askNode(anvil.url, 'eth_call', [{ to: jackets, data }, 'latest']).catch(() => '')
  return String(found).endsWith(owner.slice(2).toLowerCase()) || undefined
}

describe('a node that stalls in the middle of its answers', () => {
  test('holds nothing up once it is well again', async () => {
    let stalled = 0
    node.misbehave = () => {
      stalled += 1
      return 'half'
    }
    const during = transfer(1)
    await until('it has stalled', async () => stalled >= 2 || undefined, 60_000)
    node.misbehave = undefined
    // What shares a question with a call that stalled fails with it once, and then the client asks again; the relayer
    // may wait for it longer than a client is made to wait: then the transfer is recorded.
    await until('a transfer is taken', async () => {
      const { status, text } = await transfer(2, bob, 20_000)
      return status === 200 || text.includes('is recorded') || undefined
    })
    await until('what was sent afterwards is there', () => belongsTo(bob, 2), 30_000)
    expect([200, 503]).toContain((await during).status)
  }, 120_000)

  test('while a transaction is sent, has it sent again', async () => {
    let stalled = 0
    node.misbehave = ({ method }) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      stalled += 1
      return 'half'
    }
    const during = transfer(3)
    await until('it has stalled', async () => stalled > 0 || undefined, 60_000)
    node.misbehave = undefined
    await until('it is there', () => belongsTo(bob, 3), 30_000)
    expect((await during).status).toBe(200)
  }, 120_000)
})

describe('a node that talks nonsense is out of reach, and nobody loses a token by it:', () => {
  const nonsense: [string, Misbehaviour][] = [
    ['a word', { result: 'nonsense' }],
    ['too few digits', { result: '0x12' }],
    ['nothing', { result: null }],
    ['an object', { result: {} }],
    ['an empty body', { text: '' }],
    ['a page', { text: '<html><body>Bad gateway</body></html>' }],
    ['a list', { text: '[]' }],
    ['no result', { text: '{"jsonrpc":"2.0","id":1}' }],
    ['a refusal for too many calls', { text: '{"error":"rate limit"}', status: 429 }],
  ]
  test.each(nonsense)('%s', async (_what, answer) => {
    node.misbehave = ({ method }) => (method === 'eth_call' ? answer : undefined)
    const n = 4
    const moved = await transfer(n, carol)
    expect([moved.status, moved.body?.code]).toEqual([503, 'chain_unavailable'])
    const counter = nextCounter()
    const page = await t.ask(tapPath(tap(derived, { uid: chipUid(n) }, counter)))
    const ref = /data-ref="([^"]+)"/.exec(page.text)?.[1] ?? ''
    expect((await t.ask(`/refs/${ref}?includeOwner=true`)).status).toBe(503)
    node.misbehave = undefined
    // A node that limits requests is left alone for a while.
    const seen = await until('it is asked again', async () => {
      const { status, body } = await t.ask(`/refs/${ref}?includeOwner=true`)
      return status === 200 ? body : undefined
    })
    expect(seen).toMatchObject({ isValidRef: true, linkedToken: { ownerAddress: alice } })
  })
  let counter = 0
  const nextCounter = () => ++counter
})

test('strangers who ask for names that never come keep no team from its own', async () => {
  const resolver = mainnet.contracts.ensUniversalResolver.address
  const address = encodeAbiParameters([{ type: 'address' }], [alice])
  const good = encodeAbiParameters([{ type: 'bytes' }, { type: 'address' }], [address, resolver])
  let stalled = 0
  node.misbehave = ({ method, params }) => {
    const call = JSON.stringify(params).toLowerCase()
    if (method !== 'eth_call' || !call.includes(resolver.slice(2).toLowerCase())) return undefined
    if (!call.includes(stringToHex('slow').slice(2))) return { result: good }
    stalled += 1
    return 'silence'
  }
  const strangers = Array.from({ length: 200 }, (_, n) =>
    send(
      `${t.daemon.ready.url}/phygitals/claim-registration?${new URLSearchParams({ contractAddress: jackets, chainId: '1', tokenId: '1', recipient: `slow${n}.eth` })}`,
      { from: `127.0.0.${(n % 16) + 32}`, timeoutMs: 60_000 },
    ),
  )
  await until('strangers fill it', async () => stalled > 0 || undefined)
  const began = Date.now()
  const ours = await Promise.all([5, 6, 7].map((n) => transfer(n, 'good.eth')))
  expect(ours.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(Date.now() - began).toBeLessThan(10_000)
  // Theirs may wait as long as they like to.
  node.misbehave = undefined
  await Promise.all(strangers)
}, 120_000)
