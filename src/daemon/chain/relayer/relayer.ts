import type { Hex } from 'viem'
import { BackgroundLoop, type Schedule, systemSchedule } from '../../background-loop.ts'
import type { Db } from '../../store/database.ts'
import { abandon, cancelQueued } from '../../store/transactions.ts'
import type { Builders } from './builder.ts'
import { NoSuchSigner, WrongChain } from './errors.ts'
import { Node } from './node.ts'
import type {
  ChainSettings,
  Clock,
  DriverPace,
  Pace,
  SenderStatus,
  Settled,
  WithoutEffect,
} from './sender.ts'
import { SenderLoop } from './sender-loop.ts'
import type { SettledState } from './transaction.ts'
import { TransactionEvents, untilBroadcast, untilSettled } from './transaction-events.ts'

export interface RelayerOptions {
  db: Db
  clock: Clock
  chains: readonly ChainSettings[]
  builders?: Builders
  /** Names this process among those that could use the same database: random, new at every start. */
  holder: string
  /**
   * Whoever held the leases before is known to be gone, as the lock on the data directory proves: then a start after
   * kill -9 need not wait until they expire.
   */
  takesOver: boolean
  pace?: Partial<Pace>
  /** Called in the write that settles a transaction. */
  onSettled?: Settled
  withoutEffect?: WithoutEffect
  /** How long `broadcasted` waits for a node before it answers with what is stored. */
  broadcastTimeoutMs?: number
  schedule?: Schedule
}

export const usualPace: Pace = {
  maxInFlight: 64,
  resendMs: 15_000,
  replaceMs: 30_000,
  leaseMs: 30_000,
  maxSignings: 10,
  busyMs: 250,
  idleMs: 10_000,
  // A node that was silent is tried again so soon after its deadline: see rpcTransport.
  maxBackoffMs: 3000,
}

export interface Relayer {
  /** Begins to send, by itself. Tests call `tick` instead. */
  start(): void
  /** One step of every key on every chain. Never throws: what went wrong is in the status. */
  tick(): Promise<readonly SenderStatus[]>
  /** Says that there are new intents, after the write that recorded them. `broadcasted` does it too. */
  wake(): void
  status(): readonly SenderStatus[]
  /**
   * Waits until a node has the transaction. Where that takes long, the answer is the same: it is signed, stored, and
   * will be sent until it is mined.
   * @returns the hash of the first attempt that was ever signed
   * @throws NotSignedYet where there is none after a while, TransactionRefused where there never will be
   */
  broadcasted(id: number): Promise<Hex>
  /** Waits until the transaction is settled, however long that takes. */
  settled(id: number): Promise<SettledState>
  /**
   * Gives an intent up: at once where it has no nonce yet, else by an empty transaction in its place, and then
   * whichever is mined decides.
   * @returns false where it is too late
   */
  cancel(id: number, reason: string): Promise<boolean>
  /** @throws NoSuchSigner. For requests, before they record an intent that nobody would send */
  requireSigner(chainId: number, signer: string): void
  close(): Promise<void>
}

/**
 * Opens the relayer: everything that is recorded and not settled is its debt, also from before the last kill -9.
 * A node that is out of reach is waited for; one that answers for another chain is refused.
 * @throws WrongChain
 */
export async function openRelayer(options: RelayerOptions): Promise<Relayer> {
  const {
    db,
    clock,
    chains,
    holder,
    builders = {},
    broadcastTimeoutMs = 5_000,
    schedule = systemSchedule,
  } = options
  const onSettled = options.onSettled ?? (async () => undefined)
  const withoutEffect = options.withoutEffect ?? (async () => undefined)
  const events = new TransactionEvents(db)
  const changed = events.changed.bind(events)
  const senders = chains.flatMap((chain) => {
    const node = new Node(chain.transport)
    const pace = { ...usualPace, ...options.pace, ...chain.pace }
    return Object.entries(chain.signers).map(([name, signer]) => {
      const memory = { sent: new Map(), absent: new Map(), lowest: undefined }
      const ends = { onSettled, withoutEffect }
      const all = { chain, name, signer, node, db, clock, builders, pace, holder, changed, memory, ...ends }
      const loop = new SenderLoop(all, options.takesOver)
      return { loop, driver: drive(loop, pace, schedule) }
    })
  })
  const loops = senders.map(({ loop }) => loop)
  const drivers = senders.map(({ driver }) => driver)
  await Promise.all(loops.map(refuseWrongChain))
  const wake = () => {
    for (const driver of drivers) driver.wake()
  }

  return {
    start: () => {
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
    requireSigner: (chainId, signer) => {
      if (!loops.some(({ status }) => status.chainId === chainId && status.signer === signer))
        throw new NoSuchSigner(chainId, signer)
    },
    close: async () => {
      await Promise.all(drivers.map((driver) => driver.stop()))
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}

async function refuseWrongChain(loop: SenderLoop): Promise<void> {
  try {
    await loop.verify()
  } catch (error) {
    if (error instanceof WrongChain) throw error
  }
}

/** What is driven: a SenderLoop. */
export interface Ticking {
  readonly status: SenderStatus
  tick(): Promise<SenderStatus>
}

/**
 * Ticks a loop for as long as the daemon runs: often while there is work, seldom while there is none. A node that is
 * down is not asked at every request: it has its own pace.
 */
export function drive(
  ticking: Ticking,
  { busyMs, idleMs, maxBackoffMs }: DriverPace,
  schedule: Schedule,
): BackgroundLoop {
  let failures = 0
  return new BackgroundLoop({
    run: async () => {
      const { trouble } = await ticking.tick()
      failures = trouble === undefined ? 0 : failures + 1
    },
    restMs: () => {
      const backoff = Math.min(busyMs * 2 ** failures, Math.max(maxBackoffMs, busyMs))
      return failures > 0 ? backoff : ticking.status.unsettled > 0 ? busyMs : idleMs
    },
    wokenMs: () => (failures > 0 ? Number.POSITIVE_INFINITY : 0),
    // The store cannot be read either; what asks it next says so.
    failed: () => {
      failures += 1
    },
    schedule,
  })
}
