import { mkdirSync, readdirSync, readlinkSync, statSync, utimesSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import pino from 'pino'
import { getAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, test } from 'vitest'
import { phygitalAbi, phygitalBytecode } from '../../src/daemon/chain/artifacts/phygital.ts'
import { connectTo } from '../../src/daemon/chain/dev-chain/connect.ts'
import { devAccounts, isDevKey, nameServiceKey } from '../../src/daemon/chain/dev-chain/dev-keys.ts'
import { refusal, signClaim } from '../contracts/chain.ts'
import { signer } from '../contracts/phygital.ts'
import { testClock } from '../support/daemon.ts'
import {
  clientOf,
  devChains,
  paid,
  payee,
  relayer,
  send,
  transfer,
  transfers,
  until,
  walletOf,
} from '../support/dev-chain.ts'
import { minedReceipt } from '../support/receipt.ts'

const chains = devChains()
afterEach(() => chains.clean())

describe('a dev chain', () => {
  test('confirms a lone write within tens of milliseconds', async () => {
    const chain = await chains.start()
    const wallet = walletOf(chain)
    const took: number[] = []
    // A busy machine spares some of them.
    for (let round = 0; round < 5 || (round < 30 && Math.min(...took) >= 60); round++) {
      const started = performance.now()
      const hash = await wallet.sendRawTransaction({ serializedTransaction: await transfer(round) })
      await minedReceipt(wallet, hash)
      took.push(performance.now() - started)
    }
    expect(Math.min(...took)).toBeLessThan(60)
    const block = await clientOf(chain).getBlock()
    expect(block.baseFeePerGas).toBeLessThan(100n)
  })

  test('mines what comes past us by itself too', async () => {
    const chain = await chains.start()
    const past = connectTo(chain.internalUrl)
    await past.call('eth_sendRawTransaction', [await transfer(0)])
    past.close()
    await until(async () => (await paid(chain, 1))[0] === 1n)
  })

  test('packs a burst of 3,000 transactions into few blocks', async () => {
    const chain = await chains.start()
    const client = clientOf(chain)
    const before = await client.getBlockNumber()
    const raws = await transfers(3000)
    await Promise.all(raws.map((raw) => send(chain, raw)))
    await until(async () => (await client.getTransactionCount({ address: relayer.address })) === 3000)
    expect(Number((await client.getBlockNumber()) - before)).toBeLessThan(150)
    let empty = 0
    for (let number = before + 1n; number <= (await client.getBlockNumber()); number++)
      if ((await client.getBlockTransactionCount({ blockNumber: number })) === 0) empty += 1
    expect(empty).toBeLessThanOrEqual(1)
  })

  test('makes no blocks for a transaction that none can take', async () => {
    const chain = await chains.start()
    const client = clientOf(chain)
    const before = await client.getBlockNumber()
    const cheap = await relayer.signTransaction({
      type: 'eip1559',
      chainId: 31337,
      nonce: 0,
      to: relayer.address,
      gas: 21_000n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
    })
    await send(chain, cheap).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(Number((await client.getBlockNumber()) - before)).toBeLessThanOrEqual(1)
    await send(chain, await transfer(0))
    await until(async () => (await client.getTransactionCount({ address: relayer.address })) === 1)
  })

  test('keeps tokens, receipts, logs and names over a restart', async () => {
    const dataDir = chains.dir()
    const [alice, bob] = [payee(1), getAddress(payee(2))]
    const first = await chains.start({ dataDir, names: { 'Alice.eth': alice } })
    const wallet = walletOf(first)
    const args = [
      'Jackets',
      'JKT',
      '',
      relayer.address,
      signer.address,
      [relayer.address],
      alice,
      0n,
    ] as const
    const deployed = await minedReceipt(
      wallet,
      await wallet.deployContract({ abi: phygitalAbi, bytecode: phygitalBytecode, args }),
    )
    const address = deployed.contractAddress ?? alice
    const claim = { blockExpiry: 10_000n, recipient: bob, tokenId: 7n, contract: address, nonce: 0n } as const
    const signature = await signClaim(signer, claim)
    const minted = await minedReceipt(
      wallet,
      await wallet.writeContract({
        abi: phygitalAbi,
        address,
        functionName: 'mintNFT',
        args: [signature, claim.blockExpiry, bob, 7n],
      }),
    )
    const latest = await clientOf(first).getBlock()
    await first.stop()

    const second = await chains.start({ dataDir, names: { 'alice.eth': bob, 'bob.eth': bob } })
    const client = clientOf(second)
    const owner = { abi: phygitalAbi, address, functionName: 'ownerOf', args: [7n] } as const
    expect(await client.readContract(owner)).toBe(bob)
    const missing = client.readContract({ ...owner, args: [8n] })
    expect(await refusal(missing)).toEqual(['ERC721NonexistentToken', 8n])
    const receipt = await client.getTransactionReceipt({ hash: minted.transactionHash })
    expect(receipt.logs).toEqual(minted.logs)
    expect(await client.getLogs({ address, fromBlock: 0n })).toHaveLength(
      deployed.logs.length + minted.logs.length,
    )
    expect((await client.getBlock({ blockNumber: latest.number })).hash).toBe(latest.hash)
    expect(await client.getEnsAddress({ name: 'alice.eth' })).toBe(getAddress(alice))
    expect(await client.getEnsAddress({ name: 'bob.eth' })).toBe(bob)
    await second.setNames({ 'carol.eth': bob })
    expect(await client.getEnsAddress({ name: 'carol.eth' })).toBe(bob)
  })

  test('lets as many blocks pass as idle time would have brought', async () => {
    const clock = testClock()
    const dataDir = chains.dir()
    const first = await chains.start({ dataDir, clock })
    const number = () => clientOf(first).getBlockNumber()
    await first.mine()
    const before = await number()
    expect(await first.catchUp()).toBe(0)
    clock.jump('365d')
    expect(await first.catchUp()).toBe(0)
    clock.jump('-365d')
    clock.advance('30m')
    expect(await Promise.all([first.catchUp(), first.catchUp()])).toEqual([150, 0])
    expect(await number()).toBe(before + 150n)
    clock.advance('2d')
    expect(await first.catchUp()).toBe(200)
    expect(await first.catchUp()).toBe(0)
    await first.dump()
    await first.stop()
    const saved = new Date(clock.now())
    for (const name of readdirSync(join(dataDir, 'dev-chain')).filter((entry) => entry.startsWith('state-')))
      utimesSync(join(dataDir, 'dev-chain', name), saved, saved)
    clock.advance('24s')
    // What is sent again makes a block, which stands for none of these.
    const sent = [await transfer(0)]
    const second = await chains.start({ dataDir, clock, signedSince: () => [sent] })
    expect(await second.catchUp()).toBe(2)
  })

  test('stands beside another without ever mixing', async () => {
    const [one, two] = await Promise.all([chains.start(), chains.start()])
    await send(one, await transfer(0))
    await until(async () => (await paid(one, 1))[0] === 1n)
    expect(await paid(two, 1)).toEqual([0n])
    expect(one.internalUrl).not.toBe(two.internalUrl)
    expect(one.rpcUrl).not.toBe(two.rpcUrl)
  })

  test.runIf(process.platform === 'linux')(
    'has an anvil whose port is in a network of its own, and whose socket is its user’s alone',
    async () => {
      const chain = await chains.start()
      expect(chain.internalUrl).toMatch(/^unix:.*\/dev-chain\/anvil\.sock$/)
      expect(readlinkSync(`/proc/${chain.pid}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net'))
      const socket = chain.internalUrl.slice('unix:'.length)
      expect(statSync(socket).mode & 0o777).toBe(0o600)
      expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700)
    },
  )

  test.runIf(process.platform === 'linux')(
    'has an anvil that no port of 127.0.0.1 leads to where it gets no network of its own, and says so',
    async () => {
      // No socket has a path as long as that.
      const dataDir = join(chains.dir(), 'long'.repeat(25))
      mkdirSync(dataDir)
      const lines: string[] = []
      const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
      const chain = await chains.start({ dataDir, log })
      expect(lines.join('')).toMatch(/no network of its own: other users of this machine can find its port/)
      const { port } = new URL(chain.internalUrl)
      const refused = await new Promise((resolve) => {
        connect(Number(port), '127.0.0.1')
          .on('error', () => resolve(true))
          .on('connect', () => resolve(false))
      })
      expect(refused).toBe(true)
      await send(chain, await transfer(0))
      await until(async () => (await paid(chain, 1))[0] === 1n)
    },
  )
})

test('the keys that everyone has are known', async () => {
  const chain = await chains.start()
  const listed = await clientOf(chain).request({ method: 'eth_accounts' as never })
  expect(listed).toEqual(devAccounts.map((address) => address.toLowerCase()))
  expect(devAccounts.map((address) => isDevKey(address.toUpperCase().replace('0X', '0x')))).not.toContain(
    false,
  )
  expect(isDevKey(privateKeyToAccount(nameServiceKey).address)).toBe(true)
  expect(isDevKey(relayer.address)).toBe(false)
})
