import { countUnsettled, openAttempts, openTransactions } from '../../store/chain/intents.ts'
import { findSender, insertSender, setJam } from '../../store/chain/senders.ts'
import { hasUnexplained, markAllWithNode, markAllWithoutNode } from '../../store/chain/states.ts'
import type { SenderJam, TransactionAttemptRow } from '../../store/schema/schema.ts'
import { SignerProblem } from '../keys/transaction-signer.ts'
import { lacksBlock, messageOf } from '../node-answer.ts'
import { KeyChanged, LeaseHeld, WrongChain } from './errors.ts'
import { follow } from './follow.ts'
import { closeGaps } from './gaps.ts'
import { replace } from './replace.ts'
import { markUnmined, stuckOf } from './report-stuck.ts'
import { AttemptSender, due } from './send.ts'
import { idOf, ofSigner, type Sender, type SenderStatus, type View, writeAsHolder } from './sender.ts'
import { signQueued } from './sign-queued.ts'
import { canTakeOver } from './take-over.ts'

/** A key with funds is assumed to keep some for this long. */
const trustMs = 60_000

/**
 * Sends for one key on one chain. A tick reads, follows, repairs, and sends, and may be interrupted anywhere.
 */
export class SenderLoop {
  readonly sender: Sender
  #verified = false
  /** Rows may be marked as waiting for the node; at first, by an earlier process. */
  #marked = true
  #funds: { at: number; balance: bigint } | undefined
  #running: Promise<SenderStatus> | undefined
  status: SenderStatus

  constructor(sender: Sender) {
    this.sender = sender
    this.status = {
      ...ofSigner(sender),
      address: sender.signer.address,
      unsettled: 0,
      inFlight: 0,
      waitingForFees: false,
      waitingForFunds: false,
      jam: null,
      balance: undefined,
      stuck: undefined,
      isStandby: false,
      trouble: undefined,
    }
  }

  /** Runs one at a time; a call during a run starts another one after it. */
  tick(): Promise<SenderStatus> {
    const before = this.#running
    const run = before === undefined ? this.#guarded() : before.then(() => this.#guarded())
    this.#running = run
    return run.finally(() => {
      if (this.#running === run) this.#running = undefined
    })
  }

  async #guarded(): Promise<SenderStatus> {
    try {
      const changes = await this.#once()
      const stuck = await stuckOf(this.sender)
      await this.#recordJam(changes.jam ?? null)
      this.status = { ...this.status, isStandby: false, trouble: undefined, ...changes, stuck }
    } catch (error) {
      // Everything important is stored, so the next tick starts by reading.
      this.#verified = false
      const isHeld = error instanceof LeaseHeld
      if (!isHeld && !(error instanceof KeyChanged)) await this.#markWithoutNode(messageOf(error))
      const isStandby = isHeld && this.sender.isShared
      if (isStandby) this.#marked = true
      const thrown = error instanceof Error ? error : new Error(String(error))
      const trouble = isStandby ? undefined : thrown
      const unsettled = await this.#unsettled()
      const stuck = isStandby ? undefined : await stuckOf(this.sender, thrown)
      const jam = isStandby ? null : ('node' as const)
      // The next tick writes it.
      await this.#recordJam(jam).catch(() => undefined)
      this.status = { ...this.status, isStandby, trouble, unsettled, stuck, jam }
    }
    return this.status
  }

  async #once(): Promise<Partial<SenderStatus>> {
    const { sender } = this
    // First, because marking rows while the node is away needs the lease.
    if (!this.sender.lease.isHeld) await this.#lease()
    await this.verify()
    let view = await readView(sender)
    this.#refuseOtherKeys(view.rows)
    await this.#markWithNode()
    const isPoor = await this.#isPoor(view)
    if (await follow(sender, view)) view = await refreshView(sender, view)
    const gaps = await closeGaps(sender, view).catch(asUnsigned)
    const { changed, used } = gaps instanceof SignerProblem ? { changed: false, used: view.used } : gaps
    if (changed || used !== view.used) view = await refreshView(sender, { ...view, used })
    const replaced = await replace(sender, view)
    if (replaced.changed) view = await refreshView(sender, view)
    this.#forget(view.attempts)
    const sending = new AttemptSender(sender, view)
    sending.begin(due(sender, view))
    const held = isPoor ? 'funds' : replaced.waitingForFees ? 'fees' : jamOf(view)
    if (held !== null) await this.#recordJam(held)
    // Pending sends are awaited in this tick, even if signing fails.
    const signed = await signQueued(sender, view, sending).finally(() => sending.answered())
    const { trouble, waitingForFunds } = await sending.end()
    await markUnmined(sender, view)
    const unsigned = signed.problem ?? replaced.problem ?? (gaps instanceof SignerProblem ? gaps : undefined)
    const signer = unsigned ?? (await sender.signer.remote?.check())
    return {
      balance: this.#funds?.balance,
      jam: held ?? (waitingForFunds ? 'funds' : signer ? 'signer' : trouble === undefined ? null : 'node'),
      unsettled: await this.#unsettled(),
      inFlight: view.next + signed.count - view.used,
      waitingForFees: replaced.waitingForFees || signed.waitingForFees,
      waitingForFunds: waitingForFunds || isPoor,
      trouble: trouble === undefined ? signer : new Error(trouble),
    }
  }

  /** For all daemons on the database. */
  async #recordJam(jam: SenderJam | null): Promise<void> {
    const { memory, lease, clock } = this.sender
    if (jam !== null) memory.jammedAt = clock.monotonic()
    if (!lease.isHeld) memory.jam = undefined
    if (!lease.isHeld || memory.jam === jam) return
    await writeAsHolder(this.sender, (trx) => setJam(trx, { ...idOf(this.sender), jam }))
    memory.jam = jam
    this.sender.jamChanged()
  }

  /** Shows in lists what a transaction waits for. A failure to write that is ignored. */
  async #markWithoutNode(words: string): Promise<void> {
    const { sender } = this
    try {
      if (!sender.lease.isHeld || !(await hasUnexplained(sender.db.read, ofSigner(sender)))) return
      this.#marked = true
      await writeAsHolder(sender, (trx, at) => markAllWithoutNode(trx, { ...ofSigner(sender), at, words }))
    } catch {
      // The next tick reports why.
    }
  }

  async #markWithNode(): Promise<void> {
    if (!this.#marked) return
    const { sender } = this
    await writeAsHolder(sender, (trx, at) => markAllWithNode(trx, { ...ofSigner(sender), at }))
    this.#marked = false
  }

  /** Reports a key without funds before anything waits for it. If gas is free, it needs none. */
  async #isPoor({ head }: View): Promise<boolean> {
    const { clock, node, signer } = this.sender
    const now = clock.monotonic()
    if (head.baseFee === 0n) return false
    if (this.#funds === undefined || this.#funds.balance === 0n || now - this.#funds.at >= trustMs)
      this.#funds = { at: now, balance: await node.balance(signer.address) }
    return this.#funds.balance === 0n
  }

  /**
   * Checks that the URL leads to the right chain.
   * @throws WrongChain, and errors of the node or the connection
   */
  async verify(): Promise<void> {
    if (this.#verified) return
    const { chainId } = this.sender.chain
    const actual = await this.sender.node.chainId()
    if (actual !== chainId) throw new WrongChain(chainId, actual)
    this.#verified = true
  }

  async #lease(): Promise<void> {
    const { db, lease } = this.sender
    const id = idOf(this.sender)
    if (!(await lease.acquire())) throw new LeaseHeld(id.chainId, id.address)
    const known = await findSender(db.read, id)
    if (!known) await db.write((trx) => insertSender(trx, id))
    this.sender.memory.jam = known?.jam ?? null
  }

  /** Checks for changes made by other processes. @returns whether a tick has something to do */
  async hasNewWork(): Promise<boolean> {
    const { lease } = this.sender
    if (!lease.isHeld) return lease.canAcquire()
    if (lease.needsRenewal && !(await lease.renew())) return true
    return this.status.unsettled === 0 && ((await this.#unsettled()) > 0 || canTakeOver(this.sender))
  }

  #refuseOtherKeys(rows: readonly { sender: string | null }[]): void {
    const { chain, signer } = this.sender
    const other = rows.find((row) => row.sender !== null && row.sender !== signer.address)
    if (other?.sender) throw new KeyChanged(chain.chainId, other.sender, signer.address)
  }

  #forget(attempts: ReadonlyMap<number, readonly { id: number }[]>): void {
    const open = new Set([...attempts.values()].flat().map(({ id }) => id))
    const { sent, retryAt } = this.sender.memory
    const { retryMs } = this.sender.timing
    for (const id of sent.keys()) if (!open.has(id)) sent.delete(id)
    const now = this.sender.clock.monotonic()
    for (const [id, { at }] of retryAt) if (at + 9 * retryMs < now) retryAt.delete(id)
  }

  #unsettled(): Promise<number> {
    return countUnsettled(this.sender.db.read, ofSigner(this.sender))
  }

  /** Waits for the current tick, and lets another process take over at once. */
  async close(): Promise<void> {
    await this.#running?.catch(() => undefined)
    await this.sender.lease.release()
  }
}

/** The lowest nonce holds up all others of its key. */
const jamOf = ({ rows }: View): SenderJam | null => {
  const waiting = rows.find(({ state }) => state === 'signed' || state === 'broadcast')?.waiting ?? null
  return waiting === 'gas' || waiting === 'builder' || waiting === 'gas-estimate' ? null : waiting
}

/** Without a signature, the tick still follows and sends what is signed. */
function asUnsigned(error: unknown): SignerProblem {
  if (error instanceof SignerProblem) return error
  throw error
}

async function readView(sender: Sender, isRepeated = false): Promise<View> {
  const latest = await sender.node.head()
  const head = sender.memory.isLegacy ? { ...latest, baseFee: undefined } : latest
  try {
    const used = await sender.node.nonce(sender.signer.address, head.number)
    return { head, used, ...(await pendingWork(sender, used)) }
  } catch (error) {
    // Nodes that alternate at one URL would answer the same calls of each tick, so another one is asked at once.
    if (isRepeated || !lacksBlock.test(messageOf(error))) throw error
    return readView(sender, true)
  }
}

const refreshView = async (sender: Sender, view: View): Promise<View> => ({
  ...view,
  ...(await pendingWork(sender, view.used)),
})

async function pendingWork(sender: Sender, used: number): Promise<Pick<View, 'rows' | 'attempts' | 'next'>> {
  const { db } = sender
  const rows = await openTransactions(db.read, ofSigner(sender))
  const attempts = new Map<number, TransactionAttemptRow[]>()
  for (const attempt of rows.length === 0 ? [] : await openAttempts(db.read, ofSigner(sender))) {
    const list = attempts.get(attempt.transactionId)
    if (list) list.push(attempt)
    else attempts.set(attempt.transactionId, [attempt])
  }
  const known = (await findSender(db.read, idOf(sender)))?.nextNonce ?? 0
  // Another program may have used the key and its nonces.
  return { rows, attempts, next: Math.max(known, used) }
}
