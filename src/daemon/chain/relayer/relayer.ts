import type { Hex } from 'viem'
import { BackgroundLoop, type Schedule, systemSchedule } from '../../../values/background-loop.ts'
import { abandon, cancelQueued } from '../../store/chain/states.ts'
import { type Db, isShared } from '../../store/database/database.ts'
import { Lease } from '../../store/lease/lease.ts'
import type { Builders } from './builder.ts'
import { WrongChain } from './errors.ts'
import { FeeMarket } from './fees.ts'
import { Gas } from './gas.ts'
import { Node } from './node.ts'
import { type ShortestFirst, shortestFirst } from './queues.ts'
import {
  type ChainSettings,
  type Clock,
  type DriverPace,
  newMemory,
  type OnSettled,
  type RelayTiming,
  type SenderStatus,
  type WithoutEffect,
} from './sender.ts'
import { SenderLoop } from './sender-loop.ts'
import { type SettledState, TransactionEvents, untilBroadcast, untilSettled } from './transaction.ts'

export interface RelayerOptions {
  db: Db
  clock: Clock
  chains: readonly ChainSettings[]
  builders?: Builders
  timing?: Partial<RelayTiming>
  onSettled?: OnSettled
  withoutEffect?: WithoutEffect
  /** The time that `broadcasted` waits for a node before it answers with the stored hash. */
  broadcastTimeoutMs?: number | undefined
  schedule?: Schedule
}

export const defaultTiming: RelayTiming = {
  maxInFlight: 64,
  resendMs: 15_000,
  retryMs: 2_000,
  replaceMs: 30_000,
  maxSignings: 10,
  busyMs: 250,
  idleMs: 10_000,
  // The delay before a silent node is tried again after its deadline: see rpc-transport.ts.
  maxBackoffMs: 3000,
}

export interface Relayer {
  /** Starts sending in the background. Tests call `tick` instead. */
  start(): void
  /** Runs one step for every key on every chain. Never throws: errors are in the status. */
  tick(): Promise<readonly SenderStatus[]>
  /** Announces new intents after the write that recorded them. `broadcasted` does it too. */
  wake(): void
  status(): readonly SenderStatus[]
  /**
   * Waits until a node has the transaction. After a while it returns the same hash anyway: the transaction is
   * signed and stored, and will be sent until it is mined.
   * @returns the hash of the first signed attempt
   * @throws NotSignedYet if there is none in time, TransactionRefused if there never will be
   */
  broadcasted(id: number): Promise<Hex>
  settled(id: number): Promise<SettledState>
  /** Reports the current version of a transaction, now and after each change. @returns a function that stops it */
  follow(id: number, onChange: (version: string) => void): Promise<() => void>
  /**
   * Gives an intent up: at once if it has no nonce yet, else by an empty transaction in its place; then the one
   * that is mined decides.
   * @returns false if it is too late
   */
  cancel(id: number, reason: string): Promise<boolean>
  /**
   * Orders the signers that may send an intent: the one with the shortest queue first, jammed ones last. Call it before the
   * write that records the intent.
   */
  shortestFirst(chainId: number, signers: readonly string[]): Promise<readonly string[]>
  /** Serves another chain. @throws WrongChain */
  add(chain: ChainSettings): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the relayer, which must bring every recorded intent to an end, including those from before a kill -9.
 * Waits for nodes that cannot be reached, and refuses one that answers for another chain.
 * @throws WrongChain
 */
export async function openRelayer(options: RelayerOptions): Promise<Relayer> {
  const { db, clock, chains, builders = {}, broadcastTimeoutMs = 5_000, schedule = systemSchedule } = options
  const onSettled = options.onSettled ?? (async () => undefined)
  const withoutEffect = options.withoutEffect ?? (async () => undefined)
  const events = new TransactionEvents(db, schedule)
  const changed = events.changed.bind(events)
  const loops: SenderLoop[] = []
  const drivers: BackgroundLoop[] = []
  const wake = () => {
    for (const driver of drivers) driver.wake()
  }
  const queues = new Map<number, ShortestFirst>()
  let state: 'opening' | 'started' | 'closed' = 'opening'
  const open = async (chain: ChainSettings) => {
    const node = new Node(chain.transport)
    const monotonic = () => clock.monotonic()
    const market = chain.market ?? new FeeMarket(node.client, chain, monotonic)
    const timing = { ...defaultTiming, ...options.timing, ...chain.timing }
    const own = Object.entries(chain.signers).map(([name, signer]) => {
      const memory = newMemory()
      const ends = { onSettled, withoutEffect }
      const lease = new Lease({ db, name: leaseOf(chain, signer), clock })
      const gas = new Gas(node, signer.address, monotonic)
      const parts = { chain, name, signer, node, market, gas, lease, memory, jamChanged: () => wake() }
      const of = { ...parts, db, clock, builders, timing, changed, ...ends }
      const loop = new SenderLoop({ ...of, isShared: isShared(db) })
      const driver = drive(loop, timing, schedule)
      return { loop, drivers: isShared(db) ? [driver, watch(loop, driver, schedule)] : [driver] }
    })
    await Promise.all(own.map(({ loop }) => refuseWrongChain(loop)))
    queues.set(chain.chainId, shortestFirst(chain, db, clock))
    return own
  }
  const serve = (senders: Awaited<ReturnType<typeof open>>): void => {
    if (state === 'closed') return
    for (const sender of senders) {
      loops.push(sender.loop)
      drivers.push(...sender.drivers)
      if (state === 'started') for (const driver of sender.drivers) driver.start()
    }
  }
  serve((await Promise.all(chains.map(open))).flat())

  return {
    add: async (chain) => serve(await open(chain)),
    start: () => {
      state = 'started'
      for (const driver of drivers) driver.start()
    },
    tick: () => Promise.all(loops.map((loop) => loop.tick())),
    wake,
    status: () => loops.map(({ status }) => status),
    broadcasted: (id) => {
      wake()
      return untilBroadcast(id, { db, events, broadcastTimeoutMs, schedule })
    },
    settled: (id) => untilSettled(id, events),
    follow: (id, onChange) =>
      events.listen(id, ({ state, firstHash, settledAt }) => {
        onChange(`${state} ${firstHash}`)
        return settledAt !== null
      }),
    cancel: async (id, reason) => {
      const at = new Date(clock.now()).toISOString()
      const done = await db.write(async (trx) => {
        if (!(await cancelQueued(trx, { id, at, reason }))) return abandon(trx, { id, at, reason })
        await onSettled(trx, { id, state: 'cancelled', at })
        return true
      })
      await changed([id])
      wake()
      return done
    },
    shortestFirst: async (chainId, signers) => queues.get(chainId)?.(signers) ?? signers,
    close: async () => {
      state = 'closed'
      await Promise.all([...drivers.map((driver) => driver.stop()), events.close()])
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}

const leaseOf = ({ chainId }: ChainSettings, { address }: { address: string }) =>
  `sender ${chainId} ${address}`

/** In milliseconds. Intents that other daemons record send no signal here, so they are polled for. */
const pollMs = 250

/**
 * Wakes a driver for work that other daemons on the database recorded or left. Renews the lease during slow ticks.
 */
const watch = (
  loop: Pick<SenderLoop, 'hasNewWork'>,
  driver: Pick<BackgroundLoop, 'wake'>,
  schedule: Schedule,
): BackgroundLoop =>
  new BackgroundLoop({
    run: async () => {
      if (await loop.hasNewWork()) driver.wake()
    },
    restMs: () => pollMs,
    // The driver's tick reports it.
    failed: () => undefined,
    schedule,
  })

async function refuseWrongChain(loop: SenderLoop): Promise<void> {
  try {
    await loop.verify()
  } catch (error) {
    if (error instanceof WrongChain) throw error
  }
}

/**
 * Ticks a loop while the daemon runs: often while there is work, rarely while there is none. A node that is
 * down is retried at its own pace, not at every request.
 */
export function drive(
  loop: Pick<SenderLoop, 'status' | 'tick'>,
  { busyMs, idleMs, maxBackoffMs }: DriverPace,
  schedule: Schedule,
): BackgroundLoop {
  let failures = 0
  return new BackgroundLoop({
    run: async () => {
      const { trouble } = await loop.tick()
      failures = trouble === undefined ? 0 : failures + 1
    },
    restMs: () => {
      const backoff = Math.min(busyMs * 2 ** failures, Math.max(maxBackoffMs, busyMs))
      if (failures > 0) return backoff
      return loop.status.unsettled > 0 && !loop.status.isStandby ? busyMs : idleMs
    },
    wokenMs: () => (failures > 0 ? Number.POSITIVE_INFINITY : 0),
    // The store cannot be read either; the next operation that needs it reports that.
    failed: () => {
      failures += 1
    },
    schedule,
  })
}
