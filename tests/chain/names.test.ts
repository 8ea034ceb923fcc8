import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Address,
  createPublicClient,
  encodeAbiParameters,
  type Hex,
  http,
  type PublicClient,
  padHex,
  zeroAddress,
} from 'viem'
import { base, mainnet, sepolia } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { DevChain } from '../../src/daemon/chain/dev-chain/dev-chain.ts'
import { nameServiceAddress } from '../../src/daemon/chain/dev-chain/names.ts'
import { guardedCcipRequest } from '../../src/daemon/chain/names/name-lookup.ts'
import {
  createNameResolver,
  NameChainMissing,
  NameUnavailable,
  RecipientInvalid,
  UnknownName,
} from '../../src/daemon/chain/names/resolver.ts'
import { createOutbound } from '../../src/daemon/outbound/outbound.ts'
import { offchainNamesAbi, offchainNamesBytecode } from '../contracts/artifacts/offchain-names.ts'
import { clientOf, devChains, walletOf } from '../support/dev-chain.ts'
import { minedReceipt } from '../support/receipt.ts'

const acme = { team: 1 }
/** Room for one after the other. */
const lane = {
  concurrency: 1,
  concurrencyPerKey: 1,
  waiting: 1,
  waitingPerKey: 1,
  waitMs: 60_000,
  nameMs: 60_000,
}

const alice: Address = '0x1111111111111111111111111111111111111111'
const bob: Address = '0x2222222222222222222222222222222222222222'
const deploymentProxy: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const mixed: Address = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'

const chains = devChains()
let chain: DevChain
let offchain: Address
beforeAll(async () => {
  chain = await chains.start({ names: { 'alice.eth': alice, '🦊.eth': bob, 'shop.example': bob } })
  const wallet = walletOf(chain)
  const hash = await wallet.deployContract({ abi: offchainNamesAbi, bytecode: offchainNamesBytecode })
  const { contractAddress } = await minedReceipt(wallet, hash)
  if (!contractAddress) throw new Error('nothing was deployed')
  offchain = contractAddress
})
afterAll(() => chains.clean())

const servers: Server[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve))
})

/** The dev chain in the part of another one. */
const as = (definition: typeof mainnet | typeof base | typeof sepolia, universalResolver?: Address) =>
  createPublicClient({
    chain: {
      ...definition,
      contracts: universalResolver ? { ensUniversalResolver: { address: universalResolver } } : {},
    },
    transport: chain.transport,
  }) as PublicClient

const clients = (more: Record<number, PublicClient> = {}) => {
  const all: Record<number, PublicClient> = { 31337: clientOf(chain), ...more }
  return (chainId: number) => all[chainId]
}

const guarded = (allowPrivate: string[] = []) => {
  const outbound = createOutbound({ allowPrivate, timeoutMs: 2000, maxBytes: 100_000 })
  return outbound.request
}

const caught = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    (value) => expect.fail(`it resolved to ${String(value)}`),
    (error: Error) => error,
  )

describe('a recipient', () => {
  const { resolve } = createNameResolver({ clientFor: () => undefined, fetchGateway: guarded() })

  test.each([mixed, mixed.toLowerCase(), `0x${mixed.slice(2).toUpperCase()}`, ` ${mixed}\n`])(
    'given as the address %j needs no chain',
    async (text) => {
      expect(await resolve(acme, 5, text)).toBe(mixed)
    },
  )

  test.each([
    [mixed.replace('d8dA', 'd8da'), 'wrong checksum'],
    [zeroAddress, 'zero address'],
    [mixed.slice(0, -1), '40 hex digits'],
    [`${mixed}0`, '40 hex digits'],
    ['0xalice', '40 hex digits'],
    [mixed.slice(2), 'without 0x'],
    ['', 'empty'],
    ['   ', 'empty'],
    [`${'a'.repeat(252)}.eth`, '256 characters'],
    ['alice', 'neither an address'],
    ['alice..eth', 'empty label'],
    ['alice .eth', 'disallowed character'],
    ['alice_1.eth', 'underscore'],
    // The first letter is Cyrillic.
    ['аlice.eth', 'illegal mixture'],
  ])('%j is refused', async (text, why) => {
    const error = await caught(resolve(acme, 31337, text))
    expect(error).toBeInstanceOf(RecipientInvalid)
    expect(error.message).toContain(why)
  })
})

describe('a name on the embedded chain', () => {
  const resolve = (text: string) =>
    createNameResolver({ clientFor: clients(), fetchGateway: guarded() }).resolve(acme, 31337, text)

  test.each([
    ['alice.eth', alice],
    ['Alice.ETH', alice],
    ['ａlice.eth', alice],
    ['🦊.eth', bob],
    ['shop.example', bob],
  ])('%s resolves', async (name, address) => {
    expect(await resolve(name)).toBe(address)
  })

  test('that nobody set is unknown, and so is one that was taken away', async () => {
    await chain.setNames({ 'gone.eth': zeroAddress })
    for (const name of ['nobody.eth', 'sub.alice.eth', 'gone.eth', '0xabc.eth']) {
      const error = await caught(resolve(name))
      expect(error).toBeInstanceOf(UnknownName)
      expect(error.message).toContain(`${name} has no address on the name service of chain 31337`)
    }
  })
})

describe('a name on another chain', () => {
  const resolve = (chainId: number, name: string, more: Record<number, PublicClient>) =>
    createNameResolver({ clientFor: clients(more), fetchGateway: guarded() }).resolve(acme, chainId, name)

  test("is asked of ENS's own chain, also where it does not end in .eth", async () => {
    const more = { 1: as(mainnet, nameServiceAddress), 8453: as(base) }
    for (const chainId of [1, 8453]) {
      expect(await resolve(chainId, 'alice.eth', more)).toBe(alice)
      expect(await resolve(chainId, 'shop.example', more)).toBe(bob)
    }
    // A chain need not be configured for its names to be known.
    expect(await resolve(8453, 'alice.eth', { 1: more[1] })).toBe(alice)
  })

  test("is asked of the chain's own name service where it has one", async () => {
    const asked = vi.fn()
    const clientFor = (chainId: number) => {
      asked(chainId)
      return chainId === 11155111 ? as(sepolia, nameServiceAddress) : undefined
    }
    const { resolve } = createNameResolver({ clientFor, fetchGateway: guarded() })
    expect(await resolve(acme, 11155111, 'alice.eth')).toBe(alice)
    expect(asked).not.toHaveBeenCalledWith(1)
  })

  test('without an RPC URL says which one to set', async () => {
    for (const [chainId, variable] of [
      [1, 'TAPCHIP_RPC_1'],
      [8453, 'TAPCHIP_RPC_1'],
      [11155111, 'TAPCHIP_RPC_11155111'],
      [59144, 'TAPCHIP_RPC_1'],
    ] as const) {
      const error = await caught(resolve(chainId, 'alice.eth', {}))
      expect(error).toBeInstanceOf(NameChainMissing)
      expect(error.message).toContain(`set ${variable} to an RPC URL`)
      expect(error).toMatchObject({ forStrangers: expect.not.stringContaining('TAPCHIP') })
    }
    const linea = await caught(resolve(59144, 'alice.linea.eth', {}))
    expect(linea.message).toContain('set TAPCHIP_RPC_59144 to an RPC URL')
  })

  test('that points to a contract on ENS’s chain alone is refused', async () => {
    await chain.setNames({ 'safe.eth': nameServiceAddress })
    const more = { 1: as(mainnet, nameServiceAddress) }
    expect(await resolve(1, 'safe.eth', more)).toBe(nameServiceAddress)
    const error = await caught(resolve(8453, 'safe.eth', more))
    expect(error).toBeInstanceOf(UnknownName)
    expect(error.message).toContain('is a contract on Ethereum')
  })

  test('never comes from ENS on a chain 31337 without a name service', async () => {
    const plain = createPublicClient({ transport: chain.transport })
    const error = await caught(
      resolve(31337, 'alice.eth', { 1: as(mainnet, nameServiceAddress), 31337: plain }),
    )
    expect(error).toBeInstanceOf(NameUnavailable)
    expect(error.message).toContain('Chain 31337 has no name service')
  })
})

describe('a name that cannot be looked up is not called unknown', () => {
  test.each([
    ['a node that is down', 'ECONNREFUSED', () => createPublicClient({ chain: mainnet, transport: down() })],
    ['a chain without the contract', 'no name service at', () => as(mainnet, bob)],
    ['a contract that is something else', 'no usable answer', () => as(mainnet, deploymentProxy)],
  ])('with %s', async (_title, why, client) => {
    const clientFor = () => client() as PublicClient
    const error = await caught(
      createNameResolver({ clientFor, fetchGateway: guarded() }).resolve(acme, 1, 'alice.eth'),
    )
    expect(error).toBeInstanceOf(NameUnavailable)
    expect(error.message).toContain('chain 1')
    expect(error.message).toContain(why)
    expect(error.message).not.toContain('secret')
  })

  let closed: number
  beforeAll(async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closed = (server.address() as AddressInfo).port
    await new Promise((resolve) => server.close(resolve))
  })
  const down = () => http(`http://127.0.0.1:${closed}/v3/secret`, { retryCount: 0 })

  test('with the embedded chain stopped', async () => {
    const other = await chains.start({ names: { 'alice.eth': alice } })
    const client = clientOf(other)
    const { resolve } = createNameResolver({ clientFor: () => client, fetchGateway: guarded() })
    expect(await resolve(acme, 31337, 'alice.eth')).toBe(alice)
    await other.stop()
    const error = await caught(resolve(acme, 31337, 'alice.eth'))
    expect(error).toBeInstanceOf(NameUnavailable)
    expect(error.message).toContain('chain 31337')
  })
})

describe('a name kept off the chain', () => {
  const ways = { plain: 0, batched: 1, endless: 2 } as const

  /** A gateway that answers each request as told, and notes them. */
  async function gateway(answer: (request: { url: string; body: string }) => [number, string, string?]) {
    const requests: { method: string | undefined; url: string; body: string }[] = []
    const server = createServer(async (request: IncomingMessage, response) => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      const { method, url = '' } = request
      requests.push({ method, url, body })
      const [status, text, type = 'application/json'] = answer({ url, body })
      response.writeHead(status, { 'content-type': type }).end(text)
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return { requests, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }

  const pointingTo = (address: Address) => encodeAbiParameters([{ type: 'address' }], [address])
  const json = (data: Hex): [number, string] => [200, JSON.stringify({ data })]

  async function behave(way: keyof typeof ways, urls: string[]) {
    const wallet = walletOf(chain)
    const hash = await wallet.writeContract({
      address: offchain,
      abi: offchainNamesAbi,
      functionName: 'behave',
      args: [ways[way], urls],
    })
    await minedReceipt(wallet, hash)
  }

  const resolve = (allowPrivate: string[], more = {}) => {
    const { chain: definition } = chain
    const client = createPublicClient({
      chain: { ...definition, contracts: { ensUniversalResolver: { address: offchain } } },
      transport: chain.transport,
    })
    const clientFor = () => client as PublicClient
    const settings = { clientFor, fetchGateway: guarded(allowPrivate), ...more }
    return createNameResolver(settings).resolve(acme, 31337, 'carol.eth')
  }

  test.each(['plain', 'batched'] as const)('(%s) asks no gateway on a private address', async (way) => {
    const { origin, requests } = await gateway(() => json(pointingTo(alice)))
    await behave(way, [`${origin}/{sender}/{data}`])
    const direct = vi.spyOn(globalThis, 'fetch')
    const error = await caught(resolve([]))
    expect(error).toBeInstanceOf(NameUnavailable)
    expect(error.message).toContain(`carol.eth cannot be looked up`)
    expect(error.message).not.toContain(origin)
    expect((error.cause as Error).message).toContain(`${origin} is not on the public internet (loopback)`)
    expect(requests).toEqual([])
    expect(direct).not.toHaveBeenCalled()
  })

  test.each(['plain', 'batched'] as const)('(%s) resolves by an allowed gateway', async (way) => {
    const { origin, requests } = await gateway(() => json(pointingTo(alice)))
    await behave(way, [`${origin}/{sender}/{data}.json`])
    const direct = vi.spyOn(globalThis, 'fetch')
    expect(await resolve([origin])).toBe(alice)
    expect(requests).toHaveLength(1)
    // addr(bytes32) of carol.eth
    expect(requests[0]?.url).toMatch(new RegExp(`^/${offchain.toLowerCase()}/0x3b3b57de[0-9a-f]{64}\\.json$`))
    expect(requests[0]?.method).toBe('GET')
    expect(direct).not.toHaveBeenCalled()
  })

  test('is posted where the gateway takes no data in its address, and the next gateway is tried', async () => {
    const broken = await gateway(() => [500, '{"error":"out of order"}'])
    const silent = await gateway(() => [200, '{"no":"data"}'])
    const good = await gateway(() => [200, pointingTo(bob), 'text/plain'])
    const origins = [broken, silent, good].map(({ origin }) => origin)
    await behave('plain', [`${broken.origin}/{data}`, `${silent.origin}/{data}`, `${good.origin}/{sender}`])
    expect(await resolve(origins)).toBe(bob)
    expect(good.requests).toHaveLength(1)
    expect(good.requests[0]?.method).toBe('POST')
    expect(JSON.parse(good.requests[0]?.body ?? '')).toEqual({
      sender: offchain.toLowerCase(),
      data: expect.stringMatching(/^0x3b3b57de/),
    })
  })

  test('that its gateway does not know points nowhere', async () => {
    const { origin } = await gateway(() => json(pointingTo(zeroAddress)))
    await behave('batched', [`${origin}/{data}`])
    expect(await caught(resolve([origin]))).toBeInstanceOf(UnknownName)
  })

  test.each<[string, [number, string, string?], string]>([
    ['fails', [503, '{}'], 'answers 503'],
    ['redirects', [302, ''], 'answers 302'],
    ['talks nonsense', [200, 'hello', 'text/html'], 'answers something that is not hex data'],
    ['is not even JSON', [200, '{'], 'answers something that is not hex data'],
  ])('is unavailable while its gateway %s', async (_title, answer, why) => {
    const { origin } = await gateway(() => answer)
    for (const way of ['plain', 'batched'] as const) {
      await behave(way, [`${origin}/{data}`])
      const error = await caught(resolve([origin]))
      expect(error).toBeInstanceOf(NameUnavailable)
      expect(error.message).toMatch(/^carol\.eth cannot be looked up: .* its gateways did not answer$/)
      expect((error.cause as Error).message).toContain(`${origin} ${why}`)
    }
  })

  test('has only so many steps and so much time', async () => {
    const { origin, requests } = await gateway(() => json(padHex('0x1')))
    await behave('endless', [`${origin}/{data}`])
    const error = await caught(resolve([origin]))
    expect(error).toBeInstanceOf(NameUnavailable)
    expect(error.message).toContain('too many steps')
    expect(requests.length).toBeLessThan(20)

    let now = 0
    const asked = requests.length
    const clock = { now: () => (now += 10_000), lanes: { team: { ...lane, nameMs: 25_000 } } }
    expect((await caught(resolve([origin], clock))).message).toContain('too long')
    expect(requests.length - asked).toBe(1)
  })

  test("works as the ccipRead of any of viem's clients", async () => {
    const { origin } = await gateway(() => json(pointingTo(alice)))
    await behave('plain', [`${origin}/{data}`])
    const client = createPublicClient({
      chain: { ...chain.chain, contracts: { ensUniversalResolver: { address: offchain } } },
      transport: chain.transport,
      ccipRead: { request: guardedCcipRequest(guarded([origin])) },
    })
    expect(await client.getEnsAddress({ name: 'carol.eth' })).toBe(alice)
  })
})

describe('names that take long', () => {
  /** A chain that answers when it is let. */
  const held = () => {
    const release: (() => void)[] = []
    const state = { running: 0, most: 0, asked: 0 }
    const request = async () => {
      state.asked += 1
      state.running += 1
      state.most = Math.max(state.most, state.running)
      await new Promise<void>((resolve) => release.push(resolve))
      state.running -= 1
      throw new Error('no answer')
    }
    const client = Object.assign(Object.create(clientOf(chain)), {
      ...clientOf(chain),
      request,
    }) as PublicClient
    const letGo = async (asked: readonly Promise<unknown>[]) => {
      let done = false
      void Promise.all(asked).then(() => {
        done = true
      })
      while (!done) {
        for (const next of release.splice(0)) next()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    return { client, state, letGo }
  }
  const busy = /Too many names are being looked up/

  test('are looked up a few at once, others wait, and who finds no place is told to come again', async () => {
    const { client, state, letGo } = held()
    const { resolve } = createNameResolver({
      clientFor: () => client,
      fetchGateway: guarded(),
      lanes: { team: { ...lane, concurrency: 2, concurrencyPerKey: 2, waiting: 3, waitingPerKey: 3 } },
    })
    const asked = Array.from({ length: 6 }, (_, n) => caught(resolve(acme, 31337, `name${n}.eth`)))
    const last = await asked[5]
    expect(last).toBeInstanceOf(NameUnavailable)
    expect(last?.message).toMatch(busy)
    // An address is no question.
    expect(await resolve(acme, 31337, mixed)).toBe(mixed)
    await letGo(asked)
    expect(state.most).toBe(2)
    expect(
      (await Promise.all(asked)).slice(0, 5).every(({ message }) => /cannot be looked up/.test(message)),
    ).toBe(true)
  })

  test('and that strangers ask for deny names to no team, and to nobody who tapped a chip', async () => {
    const { client, state, letGo } = held()
    const { resolve } = createNameResolver({
      // The chain where the strangers' names live never answers.
      clientFor: (chainId) => (chainId === 31337 ? clientOf(chain) : client),
      fetchGateway: guarded(),
      ensChainId: 1,
    })
    const strangers = Array.from({ length: 40 }, (_, n) =>
      caught(resolve({ client: `192.0.2.${n % 10}` }, 1, `slow${n}.eth`)),
    )
    await expect.poll(() => state.asked).toBe(4)
    for (let n = 0; n < 3; n++) {
      expect(await resolve(acme, 31337, 'alice.eth')).toBe(alice)
      expect(await resolve({ chip: '04' }, 31337, 'alice.eth')).toBe(alice)
    }
    await letGo(strangers)
    expect(state.most).toBe(4)
  })

  test('take one key its share and no more, and a place is free once a name has had its time', async () => {
    const { client, letGo } = held()
    const { resolve } = createNameResolver({
      clientFor: () => client,
      fetchGateway: guarded(),
      lanes: { client: { ...lane, concurrency: 2, waitingPerKey: 0, nameMs: 50 } },
    })
    const one = caught(resolve({ client: 'a' }, 31337, 'one.eth'))
    expect((await caught(resolve({ client: 'a' }, 31337, 'two.eth'))).message).toMatch(busy)
    const other = caught(resolve({ client: 'b' }, 31337, 'three.eth'))
    const late = /takes .* too long/
    for (const { message } of await Promise.all([one, other])) expect(message).toMatch(late)
    // The chain has answered nothing yet, and the next has a place all the same.
    const next = caught(resolve({ client: 'a' }, 31337, 'four.eth'))
    expect((await next).message).toMatch(late)
    await letGo([next])
  })

  test('wait their turn where one tap allows several things, and its page asks for all of them at once', async () => {
    const { resolve } = createNameResolver({ clientFor: () => clientOf(chain), fetchGateway: guarded() })
    const asked = Array.from({ length: 6 }, () => resolve({ chip: '04' }, 31337, 'alice.eth'))
    expect(await Promise.all(asked)).toEqual(asked.map(() => alice))
  })

  test('are waited for no longer than it was said', async () => {
    const { client, letGo } = held()
    const { resolve } = createNameResolver({
      clientFor: () => client,
      fetchGateway: guarded(),
      lanes: { team: { ...lane, waitMs: 30 } },
    })
    const first = caught(resolve(acme, 31337, 'one.eth'))
    expect((await caught(resolve(acme, 31337, 'two.eth'))).message).toMatch(busy)
    await letGo([first])
  })
})
