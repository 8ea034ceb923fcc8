import {
  type Address,
  concatHex,
  custom,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  RpcRequestError,
  serializeErc6492Signature,
  zeroHash,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createChainClient } from '../../src/daemon/chain/chain-client.ts'
import { reasonAgainstSignature } from '../../src/daemon/domain/chain/wallet-signature.ts'
import { keptWalletAbi, keptWalletBytecode } from '../contracts/artifacts/kept-wallet.ts'
import { walletFactoryAbi, walletFactoryBytecode } from '../contracts/artifacts/wallet-factory.ts'
import { testClock } from '../support/daemon.ts'
import { ownerEdit } from '../support/owner-edit.ts'
import { chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { minedReceipt } from '../support/receipt.ts'
import { acmeKey } from '../support/seeds.ts'
import { somebodyOn } from '../support/wallet.ts'

const clock = testClock()
let p: Phygitals
let somebody: Awaited<ReturnType<typeof somebodyOn>>
let factory: Address
beforeAll(async () => {
  p = await openPhygitals({ clock })
  somebody = await somebodyOn(p)
  const hash = await somebody.deployContract({ abi: walletFactoryAbi, bytecode: walletFactoryBytecode })
  const { contractAddress } = await minedReceipt(somebody, hash)
  if (!contractAddress) throw new Error('the factory was not deployed')
  factory = contractAddress
})
afterAll(() => p.close())

type Keeper = ReturnType<typeof privateKeyToAccount>
const newKeeper = (): Keeper => privateKeyToAccount(generatePrivateKey())

/** Where the factory will put the keeper's wallet. */
const walletOf = (keeper: Keeper): Address =>
  getContractAddress({
    opcode: 'CREATE2',
    from: factory,
    salt: zeroHash,
    bytecode: encodeDeployData({ abi: keptWalletAbi, bytecode: keptWalletBytecode, args: [keeper.address] }),
  })

const deployData = (keeper: Keeper): Hex =>
  encodeFunctionData({ abi: walletFactoryAbi, functionName: 'deploy', args: [keeper.address] })

/** A token whose owner is the keeper's wallet. */
async function ownedBy(keeper: Keeper, n: number): Promise<Address> {
  const wallet = walletOf(keeper)
  await p.ask('/phygitals/transfer', { ...p.token('JKT', n), recipient: wallet }, { key: acmeKey })
  expect(await p.owner('JKT', n)).toBe(wallet)
  return wallet
}

async function deploy(keeper: Keeper): Promise<void> {
  await minedReceipt(somebody, await somebody.sendTransaction({ to: factory, data: deployData(keeper) }))
}

const until = () => Math.floor(clock.now() / 1000) + 300
const typedData = (n: number, url: string) => ownerEdit(p.addressOf('JKT'), n, url, until())
const send = (n: number, redirectUrl: string, ownerSignature: Hex) =>
  p.ask(
    '/chips/self-service',
    { ...p.token('JKT', n), updates: { redirectUrl }, requestExpiryTime: until(), ownerSignature },
    { method: 'PATCH' },
  )
const wrapped = (data: Hex, signature: Hex): Hex =>
  serializeErc6492Signature({ address: factory, data, signature })
const redirectOf = async (n: number) =>
  (await p.app.inject({ url: `/admin/chips/${chips.jacket(n)}`, headers: p.admin })).json().redirectUrl

const url = 'https://wallet.example/'
const signedBy = (keeper: Keeper, n: number) => keeper.signTypedData(typedData(n, url))

describe('the signature of a wallet that is not deployed yet (ERC-6492)', () => {
  test('is verified, without deploying it, and works once', async () => {
    const keeper = newKeeper()
    const wallet = await ownedBy(keeper, 1)
    const signature = wrapped(deployData(keeper), await signedBy(keeper, 1))
    expect((await send(1, url, signature)).status).toBe(200)
    expect(await redirectOf(1)).toBe(url)
    expect(await somebody.getCode({ address: wallet })).toBeUndefined()
    expect((await send(1, url, signature)).body.code).toBe('signature_used')
    // It stays used once the wallet is there, wrapped or not.
    await deploy(keeper)
    expect((await send(1, url, await signedBy(keeper, 1))).body.code).toBe('signature_used')
    expect((await send(1, url, signature)).body.code).toBe('signature_used')
  })

  test('is refused if another key signed, or other words', async () => {
    const keeper = newKeeper()
    await ownedBy(keeper, 2)
    const others = [await signedBy(newKeeper(), 2), await keeper.signTypedData(typedData(2, `${url}x`))]
    for (const signature of others) {
      const { status, body } = await send(2, url, wrapped(deployData(keeper), signature))
      expect([status, body.code]).toEqual([401, 'signature_invalid'])
      expect(body.message).toContain('ownerSignature is not the signature of the owner. ')
    }
    // Refusals use nothing up.
    expect((await send(2, url, wrapped(deployData(keeper), await signedBy(keeper, 2)))).status).toBe(200)
  })

  test.each(['refuse', 'burnGas', 'shout', 'idle'] as const)(
    'is refused if its factory does something else: %s',
    async (functionName) => {
      const keeper = newKeeper()
      await ownedBy(keeper, 3)
      const data = encodeFunctionData({ abi: walletFactoryAbi, functionName })
      const { status, body } = await send(3, url, wrapped(data, await signedBy(keeper, 3)))
      expect([status, body.code]).toEqual([401, 'signature_invalid'])
      expect(body.message).toContain('this wallet is not deployed yet')
      expect(await redirectOf(3)).toBeNull()
      await p.ask(
        '/phygitals/transfer',
        { ...p.token('JKT', 3), recipient: keeper.address },
        { key: acmeKey },
      )
    },
  )

  test('is refused if the factory deploys the wallet of somebody else', async () => {
    const [keeper, thief] = [newKeeper(), newKeeper()]
    await ownedBy(keeper, 4)
    const { body } = await send(4, url, wrapped(deployData(thief), await signedBy(thief, 4)))
    expect(body).toMatchObject({
      code: 'signature_invalid',
      message: expect.stringContaining('not deployed yet'),
    })
  })

  test('needs its factory', async () => {
    const keeper = newKeeper()
    await ownedBy(keeper, 5)
    const bare = concatHex([await signedBy(keeper, 5), '0x00'])
    expect((await send(5, url, bare)).body).toMatchObject({
      statusCode: 401,
      message: expect.stringContaining('send its signature with its factory (ERC-6492)'),
    })
  })

  test.each<[string, Hex]>([
    ['nothing', '0x'],
    ['one word', zeroHash],
    [
      'offsets that lead nowhere',
      encodeAbiParameters(
        [{ type: 'uint256' }, { type: 'uint256' }, { type: 'uint256' }],
        [1n, 2n ** 200n, 96n],
      ),
    ],
    [
      'a length beyond its end',
      encodeAbiParameters(
        [{ type: 'uint256' }, { type: 'uint256' }, { type: 'uint256' }, { type: 'uint256' }],
        [1n, 96n, 96n, 2n ** 32n],
      ),
    ],
  ])('is refused by name if its wrapper holds %s', async (_, content) => {
    const magic: Hex = `0x${'6492'.repeat(16)}`
    const { status, body } = await send(6, url, concatHex([content, magic]))
    expect([status, body.code]).toEqual([401, 'signature_invalid'])
    expect(body.message).toContain('ends as an ERC-6492 signature does, but does not hold a factory')
  })
})

test('the signature of a wallet that was deployed since is unwrapped, and its factory is not asked', async () => {
  const keeper = newKeeper()
  await ownedBy(keeper, 7)
  await deploy(keeper)
  const refusing = encodeFunctionData({ abi: walletFactoryAbi, functionName: 'refuse' })
  expect((await send(7, url, wrapped(refusing, await signedBy(newKeeper(), 7)))).status).toBe(401)
  expect((await send(7, url, wrapped(refusing, await signedBy(keeper, 7)))).status).toBe(200)
  expect(await redirectOf(7)).toBe(url)
})

describe('a node', () => {
  const withAnswer = (answer: (params: unknown) => unknown) => {
    const chain = p.ctx.chains.get(31337)
    const calls: { method: string; params: unknown }[] = []
    const request = async ({ method, params }: { method: string; params?: unknown }) => {
      calls.push({ method, params })
      const [call] = Array.isArray(params) ? params : []
      if (method === 'eth_call' && call.to === undefined) return answer(params)
      // Passed on as it is.
      return chain.client.request({ method, params } as never)
    }
    return {
      calls,
      chain: {
        ...chain,
        client: createChainClient({ ccipRead: false, transport: custom({ request }, { retryCount: 0 }) }),
      },
    }
  }
  const failing = (code: number, message: string) => () => {
    throw new RpcRequestError({ body: {}, error: { code, message }, url: 'http://node.example' })
  }
  const signature = async (keeper: Keeper, hash: Hex) =>
    wrapped(deployData(keeper), await keeper.sign({ hash }))

  test.each([
    [-32602, 'missing value for required argument: to'],
    [3, 'failed to serialize transaction: toAddressIsNull'],
    [-32000, 'contract creation is not supported'],
  ])('that runs no creation code (%s, %s): the wallet is not deployed yet', async (code, message) => {
    const keeper = newKeeper()
    const { chain } = withAnswer(failing(code, message))
    expect(
      await reasonAgainstSignature(chain, walletOf(keeper), zeroHash, await signature(keeper, zeroHash)),
    ).toMatch(
      /^cannot be verified: this wallet is not deployed yet, and the node of chain 31337 cannot try it\. Deploy/,
    )
  })

  test.each([
    [-32005, 'daily request count exceeded, request rate limited'],
    [-32000, 'header not found'],
  ])('that cannot answer now (%s, %s) says nothing of the signature', async (code, message) => {
    const keeper = newKeeper()
    const { chain } = withAnswer(failing(code, message))
    const refused = reasonAgainstSignature(
      chain,
      walletOf(keeper),
      zeroHash,
      await signature(keeper, zeroHash),
    )
    await expect(refused).rejects.toMatchObject({ code: 'chain_unavailable' })
  })

  test('is asked once, within a bound of gas, and not at all for an account of a key', async () => {
    const keeper = newKeeper()
    const { chain, calls } = withAnswer(() => '0x01')
    expect(
      await reasonAgainstSignature(chain, walletOf(keeper), zeroHash, await signature(keeper, zeroHash)),
    ).toBeUndefined()
    expect(calls).toMatchObject([
      { method: 'eth_getCode' },
      { method: 'eth_call', params: [{ gas: '0x4c4b40' }, 'latest'] },
    ])
    calls.length = 0
    expect(
      await reasonAgainstSignature(chain, keeper.address, zeroHash, await keeper.sign({ hash: zeroHash })),
    ).toBeUndefined()
    expect(calls).toEqual([])
  })
})
