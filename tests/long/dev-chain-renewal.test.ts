import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import pino from 'pino'
import { type Hex, numberToHex } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import type { DevChain } from '../../src/daemon/chain/dev-chain/dev-chain.ts'
import { cacheDirIn } from '../../src/daemon/chain/dev-chain/running-chain.ts'
import { Snapshots } from '../../src/daemon/chain/dev-chain/snapshots.ts'
import { rawAttempts } from '../../src/daemon/store/chain/attempts.ts'
import { startAnvil } from '../support/anvil.ts'
import {
  clientOf,
  eagerRenewal,
  killNow,
  paid,
  payee,
  relayer,
  send,
  storedIn,
  transfer,
  transfers,
  until,
} from '../support/dev-chain.ts'
import { ownedDevChains, spawnOwner } from '../support/dev-chain-process.ts'
import { limitFiles } from '../support/full-disk.ts'
import { askNode, defaultLimits, openBench, relayerKey, slots, tally } from '../support/relayer.ts'

const chains = ownedDevChains()

const folder = (dataDir: string) => join(dataDir, 'dev-chain')
const block = z.object({ number: z.string(), timestamp: z.string(), hash: z.string() })

/** Looks at the published RPC all the time, as a program does that follows the chain. Nothing may ever go back. */
function follow(chain: DevChain) {
  const pids = new Set<number>()
  const hashes = new Map<string, string>()
  let isOver = false
  const ended = (async () => {
    let last = { number: -1, timestamp: 0 }
    while (!isOver) {
      if (chain.pid !== undefined) pids.add(chain.pid)
      const found = block.parse(await askNode(chain.rpcUrl, 'eth_getBlockByNumber', ['latest', false]))
      const { number, timestamp } = { number: Number(found.number), timestamp: Number(found.timestamp) }
      expect(number).toBeGreaterThanOrEqual(last.number)
      expect(timestamp).toBeGreaterThanOrEqual(last.timestamp)
      expect(hashes.get(found.number) ?? found.hash).toBe(found.hash)
      hashes.set(found.number, found.hash)
      last = { number, timestamp }
    }
  })()
  // It is awaited at the end.
  ended.catch(() => undefined)
  return {
    pids,
    hashes,
    end: () => {
      isOver = true
      return ended
    },
  }
}

describe('a chain that is started anew from its state', () => {
  test('under load takes every transaction once, fails no request, and goes on where it was', async () => {
    const chain = await chains.start({ renewal: eagerRenewal })
    const client = clientOf(chain)
    const follower = follow(chain)
    const count = 600
    const raws = await transfers(count)
    const last = await transfer(count + 1)
    const hashes: Hex[] = []
    // Waits in the pool for the one before it, through all that comes.
    await send(chain, last)
    for (let at = 0; at < count || follower.pids.size < 4; at += 10) {
      const sent = await Promise.all(raws.slice(at, at + 10).map((raw) => send(chain, raw)))
      hashes.push(...(sent as Hex[]))
      // A chain on which nothing happens grows no more.
      if (at >= count) await chain.mine()
    }
    await until(async () => (await client.getTransactionCount({ address: relayer.address })) === count)
    await send(chain, await transfer(count))
    await until(async () => (await client.getTransactionCount({ address: relayer.address })) === count + 2)
    await follower.end()
    expect(new Set(await paid(chain, count + 2))).toEqual(new Set([1n]))
    expect(follower.pids.size).toBeGreaterThanOrEqual(4)
    const receipts = await Promise.all(hashes.map((hash) => client.getTransactionReceipt({ hash })))
    expect(new Set(receipts.map(({ status }) => status))).toEqual(new Set(['success']))
    for (const [number, hash] of follower.hashes)
      expect((await client.getBlock({ blockNumber: BigInt(number) })).hash).toBe(hash)
  })

  test('is none that a relayer takes for a reorganisation: each intent is signed once, and done once', async () => {
    const bench = await openBench()
    onTestFinished(() => bench.close())
    const chain = await chains.start({
      renewal: eagerRenewal,
      fund: [relayerKey.address],
      rawTransactions: ({ since }) => rawAttempts(bench.db.read, { chainId: 31337, since }),
    })
    await chain.request({ method: 'anvil_setCode', params: [tally.address, tally.code] })
    const pids = new Set<number>()
    const sender = await bench.open({
      chains: [
        {
          chainId: 31337,
          transport: chain.transport,
          confirmations: 1,
          maxFeePerGas: 1000n * 10n ** 9n,
          ...defaultLimits,
          tip: 10n ** 9n,
          forgets: true,
          signers: { relayer: relayerKey },
        },
      ],
    })
    onTestFinished(() => sender.close())
    const ids: number[] = []
    for (const slot of slots(200)) {
      ids.push(await bench.intend(slot))
      if (slot % 5 > 0) continue
      await sender.tick()
      if (chain.pid !== undefined) pids.add(chain.pid)
      expect(sender.status()[0]?.trouble).toBeUndefined()
    }
    await until(async () => {
      await sender.tick()
      return sender.status().every(({ unsettled }) => unsettled === 0)
    })
    expect(pids.size).toBeGreaterThan(2)
    for (const [index, id] of ids.entries()) {
      const shown = await bench.show(id)
      expect([shown.state, shown.nonce, shown.signings, shown.attempts.length]).toEqual([
        'confirmed',
        index,
        1,
        1,
      ])
      const params = [tally.address, numberToHex(index + 1, { size: 32 }), 'latest']
      expect(Number(await chain.request({ method: 'eth_getStorageAt', params }))).toBe(1)
    }
  })

  test.runIf(process.platform === 'linux')(
    'is not ended where the disk has no room to begin another, and is renewed once it has',
    async () => {
      const dataDir = chains.dir()
      let refused = 0
      const log = pino(
        { level: 'warn' },
        { write: (line: string) => (refused += Number(/could not be restarted from its state/.test(line))) },
      )
      const chain = await chains.start({ dataDir, log, renewal: eagerRenewal })
      const client = clientOf(chain)
      const raws = (await transfers(120)).values()
      /** What is asked has to succeed all the time. A chain on which nothing happens grows no more. */
      const goOn = async () => {
        const { value: raw } = raws.next()
        if (raw !== undefined) await send(chain, raw)
        await chain.mine()
        await client.getBlockNumber()
      }
      const first = chain.pid
      await until(async () => {
        await goOn()
        return chain.pid !== undefined && chain.pid !== first
      })
      await chain.dump()
      const [newest] = await new Snapshots(folder(dataDir)).list()
      const packed = readFileSync(join(folder(dataDir), newest?.name ?? ''))
      expect(gunzipSync(packed).length).toBeGreaterThan(4 * packed.length)
      const lift = limitFiles(3 * packed.length)
      onTestFinished(lift)
      await until(async () => {
        await goOn()
        return refused >= 2
      })
      const { pid } = chain
      await goOn()
      expect(chain.pid).toBe(pid)
      expect(pid).toBeDefined()
      await until(() => !readdirSync(folder(dataDir)).some((name) => name.endsWith('ing.json')))
      lift()
      await until(async () => {
        await goOn()
        return chain.pid !== undefined && chain.pid !== pid
      })
    },
  )

  test('is not, where a test steers anvil itself by what no state holds', async () => {
    const chain = await chains.start({ rpcMode: 'full', renewal: eagerRenewal })
    const { pid } = chain
    const filter = await askNode(chain.rpcUrl, 'eth_newBlockFilter')
    for (const raw of await transfers(20)) {
      await send(chain, raw)
      await chain.mine()
    }
    const seen = await askNode(chain.rpcUrl, 'eth_getFilterChanges', [filter])
    expect(z.array(z.string()).parse(seen).length).toBeGreaterThanOrEqual(20)
    expect(chain.pid).toBe(pid)
  })
})

describe.runIf(process.platform === 'linux')('kill -9 of the daemon', () => {
  for (const [where, killAt] of [
    ['once the state is kept, before the old chain is ended', 'restarting it from its state'],
    ['once the new chain has what came after its state', '"state":'],
    ['once the new chain is reached', 'was restarted from its state'],
  ])
    test(`${where} loses nothing and leaves one chain`, async () => {
      const dataDir = chains.dir()
      const owner = await spawnOwner(dataDir, 600, killAt)
      await owner.ended
      const left = anvilsOf(dataDir)
      onTestFinished(() => left.forEach(killNow))
      expect(left).toHaveLength(1)
      const stored = storedIn(dataDir)
      expect(stored.length).toBeGreaterThan(0)
      expect(stored.length).toBeLessThan(600)
      const chain = await chains.start({ dataDir, rawTransactions: () => stored })
      expect(await clientOf(chain).getTransactionCount({ address: relayer.address })).toBe(stored.length)
      expect(new Set(await paid(chain, stored.length))).toEqual(new Set([1n]))
      expect(anvilsOf(dataDir)).toEqual([chain.pid])
    })
})

/** The processes that run on a data directory. */
const anvilsOf = (dataDir: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
        return args.includes(cacheDirIn(folder(dataDir))) && /anvil$/.test(args[0] ?? '')
      } catch {
        return false
      }
    })
    .map(Number)

test('a state without its old transactions has the last ones, their blocks and receipts, and all that they left', async () => {
  const dataDir = chains.dir()
  const chain = await chains.start({ dataDir })
  const client = clientOf(chain)
  const hashes: Hex[] = []
  for (const [nonce, raw] of (await transfers(40)).entries()) {
    hashes.push((await send(chain, raw)) as Hex)
    await until(async () => (await client.getTransactionCount({ address: relayer.address })) > nonce)
  }
  const latest = await client.getBlock()
  await chain.stop()
  const snapshots = new Snapshots(folder(dataDir))
  const [snapshot] = await snapshots.list()
  if (!snapshot) throw new Error('no state was kept')
  const size = async (history?: { transactions: number; blocks: number }) =>
    readFileSync((await snapshots.unpack(snapshot, history)) ?? '').length
  const whole = await size()
  expect(await size({ transactions: 50, blocks: 16_384 })).toBe(whole)
  expect(await size({ transactions: 50, blocks: 5 })).toBeLessThan(whole / 2)
  expect(await size({ transactions: 10, blocks: 16_384 })).toBeLessThan(whole / 2)

  const file = join(folder(dataDir), 'loading.json')
  const anvil = await startAnvil(['--load-state', file])
  onTestFinished(() => anvil.kill())
  const receiptOf = (hash: Hex) => askNode(anvil.url, 'eth_getTransactionReceipt', [hash])
  const found = await Promise.all(hashes.map(receiptOf))
  expect(found.map((receipt) => receipt !== null)).toEqual(hashes.map((_, index) => index >= 30))
  expect(await askNode(anvil.url, 'eth_getBlockByNumber', ['latest', false])).toMatchObject({
    hash: latest.hash,
  })
  for (const nonce of slots(40))
    expect(await askNode(anvil.url, 'eth_getBalance', [payee(nonce - 1), 'latest'])).toBe('0x1')
})
