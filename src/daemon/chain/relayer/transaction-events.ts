import type { Hex } from 'viem'
import { BackgroundLoop, type Schedule, systemSchedule } from '../../../values/background-loop.ts'
import { findTransaction, findTransactions } from '../../store/chain/intents.ts'
import { type Db, isShared } from '../../store/database/database.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { NotSignedYet, TransactionRefused } from './errors.ts'
import { isSettled, type SettledState, stateOf, storedHex } from './transaction.ts'

type Listener = (row: TransactionRow) => boolean

const pollMs = 250
/** Transactions read in one query. */
const batchSize = 500

/**
 * Notifies those who wait for a transaction of its changes. The store is authoritative; this only says when to
 * read it.
 */
export class TransactionEvents {
  readonly #db: Db
  readonly #listeners = new Map<number, Set<Listener>>()
  /** Polls for changes by other daemons while somebody waits. */
  readonly #loop: BackgroundLoop | undefined
  constructor(db: Db, schedule: Schedule = systemSchedule) {
    this.#db = db
    if (isShared(db))
      this.#loop = new BackgroundLoop({
        run: () => this.#checkAll(),
        firstMs: pollMs,
        restMs: () => pollMs,
        // A failed read is repeated for a while; callers have their own time limits.
        failed: () => undefined,
        schedule,
      })
  }

  /** @param listener called with the row at each change until it returns true */
  async listen(id: number, listener: Listener): Promise<() => void> {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    this.#loop?.start()
    const row = await findTransaction(this.#db.read, id)
    if (row) this.#tell(row)
    return () => this.#unfollow(id, listener)
  }

  changed(ids: Iterable<number>): Promise<void> {
    return this.#read([...ids].filter((id) => this.#listeners.has(id)))
  }

  close(): Promise<void> {
    return this.#loop?.stop() ?? Promise.resolve()
  }

  #checkAll(): Promise<void> {
    return this.#read([...this.#listeners.keys()])
  }

  async #read(ids: readonly number[]): Promise<void> {
    for (let from = 0; from < ids.length; from += batchSize)
      for (const row of await findTransactions(this.#db.read, ids.slice(from, from + batchSize)))
        this.#tell(row)
  }

  #tell(row: TransactionRow): void {
    for (const listener of [...(this.#listeners.get(row.id) ?? [])])
      if (listener(row)) this.#unfollow(row.id, listener)
  }

  #unfollow(id: number, listener: Listener): void {
    const listeners = this.#listeners.get(id)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(id)
  }
}

interface WaitSettings {
  db: Db
  events: TransactionEvents
  broadcastTimeoutMs: number
  schedule: Schedule
}

const isHandedOver = (row: TransactionRow): boolean =>
  row.state !== 'queued' && row.state !== 'signed' ? true : row.state === 'queued' && row.firstHash !== null

function hashOf(row: TransactionRow): Hex {
  if (row.firstHash !== null) return storedHex(row.firstHash)
  if (row.state === 'cancelled') throw new TransactionRefused(row.id, row.reason ?? 'given up')
  throw new NotSignedYet(row.id, row.waiting)
}

export async function untilBroadcast(
  id: number,
  { db, events, broadcastTimeoutMs, schedule }: WaitSettings,
): Promise<Hex> {
  let giveUp: () => unknown = () => undefined
  const timeout = new Promise<void>((resolve) => {
    giveUp = schedule(resolve, broadcastTimeoutMs)
  })
  let unfollow: () => unknown = () => undefined
  const handedOver = new Promise<void>((resolve, reject) => {
    events
      .listen(id, (row) => {
        if (isHandedOver(row)) resolve()
        return isHandedOver(row)
      })
      .then((stop) => {
        unfollow = stop
      }, reject)
  })
  try {
    await Promise.race([handedOver, timeout])
  } finally {
    giveUp()
    unfollow()
  }
  const row = await findTransaction(db.read, id)
  if (!row) throw new Error(`There is no transaction ${id}`)
  return hashOf(row)
}

export function untilSettled(id: number, events: TransactionEvents): Promise<SettledState> {
  return new Promise((resolve, reject) => {
    events
      .listen(id, (row) => {
        const state = stateOf(row)
        if (!isSettled(state)) return false
        resolve(state)
        return true
      })
      .catch(reject)
  })
}
