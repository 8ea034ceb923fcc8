import { type Address, getAddress, type Hex, isHex } from 'viem'
import { BackgroundLoop, type Schedule, systemSchedule } from '../../../values/background-loop.ts'
import { findTransaction, findTransactions } from '../../store/chain/intents.ts'
import { type Db, isShared } from '../../store/database/database.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { NotSignedYet, TransactionRefused } from './errors.ts'

/**
 * The life of an intent: queued → signed → broadcast → mined → confirmed | reverted | cancelled. As in other
 * reliable relayers, signed bytes are stored before they leave, and whichever attempt is mined counts.
 */
type TransactionState =
  /** Recorded, without a nonce; nothing was sent. A transaction that must be signed again returns to this state. */
  | { name: 'queued' }
  /** Has a nonce, and its signed bytes are stored. A node may or may not have them. */
  | { name: 'signed'; sender: Address; nonce: number; firstHash: Hex }
  /** A node accepted one of the attempts. It may forget it, so it is resent occasionally. */
  | { name: 'broadcast'; sender: Address; nonce: number; firstHash: Hex }
  /** In a block that is not final yet. A reorganization leads back to `broadcast`. */
  | ({ name: 'mined'; sender: Address; nonce: number; firstHash: Hex; succeeded: boolean } & Mined)
  /** Final, with its effect. */
  | ({ name: 'confirmed'; sender: Address; nonce: number; firstHash: Hex } & Mined)
  /** Final, without an effect. */
  | ({ name: 'reverted'; sender: Address; nonce: number; firstHash: Hex; reason: string } & Mined)
  /** Given up without an effect. Its nonce, if it had one, was used by an empty transaction. */
  | { name: 'cancelled'; firstHash: Hex | undefined; reason: string }

interface Mined {
  minedHash: Hex
  blockHash: Hex
  blockNumber: number
}

export type SettledState = Extract<TransactionState, { name: 'confirmed' | 'reverted' | 'cancelled' }>

/** @throws Error if a row contradicts itself */
function stateOf(row: TransactionRow): TransactionState {
  const reason = row.reason ?? 'unknown'
  if (row.state === 'queued') return { name: 'queued' }
  if (row.state === 'cancelled') {
    return {
      name: 'cancelled',
      firstHash: row.firstHash === null ? undefined : storedHex(row.firstHash),
      reason,
    }
  }
  if (row.sender === null || row.nonce === null) throw new Error(`Transaction ${row.id} has no nonce`)
  const sent = { sender: getAddress(row.sender), nonce: row.nonce, firstHash: storedHex(row.firstHash) }
  if (row.state === 'signed' || row.state === 'broadcast') return { name: row.state, ...sent }
  const mined = {
    minedHash: storedHex(row.minedHash),
    blockHash: storedHex(row.blockHash),
    blockNumber: row.blockNumber ?? 0,
  }
  if (row.state === 'mined') return { name: 'mined', ...sent, ...mined, succeeded: row.succeeded === 1 }
  if (row.state === 'confirmed') return { name: 'confirmed', ...sent, ...mined }
  return { name: 'reverted', ...sent, ...mined, reason }
}

const isSettled = (state: TransactionState): state is SettledState =>
  state.name === 'confirmed' || state.name === 'reverted' || state.name === 'cancelled'

/** Reads hex from the store. @throws Error if it is not hex, which only damage explains */
export function storedHex(text: string | null): Hex {
  if (text === null || !isHex(text)) throw new Error('The store contains text where hex is expected')
  return text
}

export const storedAddress = (text: string | null): Address | null =>
  text === null ? null : getAddress(text)

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
  /** Of members that somebody waits for: they change with their group. */
  readonly #groups = new Map<number, number>()
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
    const changed = new Set(ids)
    const members = [...this.#groups].filter(([, groupId]) => changed.has(groupId)).map(([id]) => id)
    return this.#read([...changed, ...members].filter((id) => this.#listeners.has(id)))
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
    if (row.groupId !== null) this.#groups.set(row.id, row.groupId)
    for (const listener of [...(this.#listeners.get(row.id) ?? [])])
      if (listener(row)) this.#unfollow(row.id, listener)
  }

  #unfollow(id: number, listener: Listener): void {
    const listeners = this.#listeners.get(id)
    listeners?.delete(listener)
    if (listeners?.size !== 0) return
    this.#listeners.delete(id)
    this.#groups.delete(id)
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
        // A member has no nonce before.
        const state = row.settledAt === null ? undefined : stateOf(row)
        if (!state || !isSettled(state)) return false
        resolve(state)
        return true
      })
      .catch(reject)
  })
}
