import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, pad, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import * as z from 'zod'
import { SigningKey } from '../../src/daemon/chain/keys/signing-key.ts'
import { type NewIntent, recordIntent } from '../../src/daemon/chain/relayer/record-intent.ts'
import { openRelayer, type RelayerOptions } from '../../src/daemon/chain/relayer/relayer.ts'
import type { ChainSettings } from '../../src/daemon/chain/relayer/sender.ts'
import { showTransaction } from '../../src/daemon/store/chain/listing.ts'
import { releaseAllLeases } from '../../src/daemon/store/lease/lease.ts'
import { startAnvil } from './anvil.ts'
import { testClock } from './daemon.ts'
import { openTestStore } from './engines.ts'
import { openStrictNode } from './relayer/strict-node.ts'
import { rpcTransport } from './rpc-transport.ts'

/** The first of the dev chain's well-known keys, which has money there. It signs as the daemon does, which is faster. */
export const relayerKey = SigningKey.of(
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  'the tests',
)
/** Has no money anywhere. */
export const poorKey = privateKeyToAccount(`0x${'77'.repeat(32)}`)

/**
 * Counts how often each of its slots was called, so that an effect that came twice, or never, shows:
 * `sstore(calldataload(0), sload(calldataload(0)) + 1)`.
 */
export const tally = {
  address: '0x00000000000000000000000000000000000007a1',
  code: '0x60003580546001019055',
} as const
/** Reverts whatever it is asked. */
export const wall = { address: '0x0000000000000000000000000000000000000bad', code: '0x5f5ffd' } as const

export const gwei = 1_000_000_000n
/** Of tips and gas. */
export const defaultLimits = { minTip: 0n, maxTip: undefined, maxGas: 2_000_000 }

export interface BenchOptions {
  confirmations?: number
  chain?: Partial<ChainSettings>
  relayer?: Partial<RelayerOptions>
  anvil?: string[]
  /** For a whole exchange with the node. */
  timeoutMs?: number
}

const rpcAnswer = z.object({ result: z.unknown(), error: z.object({ message: z.string() }).optional() })

/** One JSON-RPC call. @throws Error with what the node said */
export async function askNode(url: string, method: string, params: unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result, error } = rpcAnswer.parse(await answer.json())
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

/** An anvil behind geth's rules, a database, and a relayer that moves when it is told to. */
export async function openBench(options: BenchOptions = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'tapchip-relayer-'))
  const anvil = await startAnvil(['--no-mining', '--order', 'fees', ...(options.anvil ?? [])])
  const node = await openStrictNode(() => anvil.url)
  const clock = testClock()
  let db = await openTestStore(directory)

  const rpc = (method: string, params: unknown[] = []) => askNode(anvil.url, method, params)
  for (const { address, code } of [tally, wall]) await rpc('anvil_setCode', [address, code])

  const impatient = new Set<() => void>()
  const schedule = (job: () => void) => {
    impatient.add(job)
    return () => impatient.delete(job)
  }
  const chain = (more: Partial<ChainSettings> = {}): ChainSettings => ({
    chainId: 31337,
    transport: rpcTransport(node.url, options.timeoutMs ?? 6_000),
    confirmations: options.confirmations ?? 1,
    maxFeePerGas: 100n * gwei,
    ...defaultLimits,
    tip: gwei,
    signers: { relayer: relayerKey },
    ...options.chain,
    ...more,
  })
  const open = (more: Partial<RelayerOptions> = {}) => {
    const usual = { db, clock, chains: [chain()] }
    return openRelayer({ ...usual, schedule, ...options.relayer, ...more })
  }
  const bench = {
    anvil,
    node,
    clock,
    rpc,
    relayer: await open(),
    open,
    chain,
    get db() {
      return db
    },
    /** Whoever waits for `broadcasted` has waited long enough. */
    loseAllPatience() {
      for (const job of impatient) job()
      impatient.clear()
    },
    /** As after kill -9: what was in memory is gone, what was written is not. */
    async restart() {
      await db.close()
      db = await openTestStore(directory)
      await db.write(releaseAllLeases)
      bench.relayer = await open()
    },
    /** Records that a slot of the tally is to be counted, once. */
    intend: (slot: number, more: Partial<NewIntent> = {}): Promise<number> =>
      db.write((trx) =>
        recordIntent(trx, {
          chainId: 31337,
          call: { to: tally.address, data: pad(toHex(slot)) },
          gasHint: 60_000,
          kind: 'tally',
          subject: { slot },
          teamId: null,
          now: clock.now(),
          ...more,
        }),
      ),
    tallied: async (slot: number): Promise<number> =>
      Number(await rpc('eth_getStorageAt', [tally.address, pad(toHex(slot)), 'latest'])),
    mine: (blocks = 1): Promise<unknown> => rpc('anvil_mine', [toHex(blocks)]),
    nonce: async (): Promise<number> =>
      Number(await rpc('eth_getTransactionCount', [relayerKey.address, 'latest'])),
    async state(id: number): Promise<string | undefined> {
      return (await showTransaction(db.read, id))?.state
    },
    async show(id: number) {
      const shown = await showTransaction(db.read, id)
      if (!shown) throw new Error(`there is no transaction ${id}`)
      return shown
    },
    /** Ticks and mines, a block every two seconds, until everything is settled. */
    async finish(rounds = 60): Promise<void> {
      for (let round = 0; round < rounds; round++) {
        const statuses = await bench.relayer.tick()
        if (statuses.every(({ unsettled }) => unsettled === 0)) return
        await bench.mine()
        clock.advance('2s')
      }
      throw new Error(`not settled after ${rounds} rounds: ${JSON.stringify(bench.relayer.status())}`)
    },
    async close() {
      await bench.relayer.close()
      await db.close()
      await node.close()
      await anvil.kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return bench
}

export type Bench = Awaited<ReturnType<typeof openBench>>

export const slots = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

/** The hash as people see it. */
export const isHash = (text: string): text is Hex => /^0x[0-9a-f]{64}$/.test(text)
