import type { Queries } from '../../store/database.ts'
import type { TransactionAttemptRow, TransactionRow } from '../../store/schema.ts'
import { markAttemptError, markAttemptsTaken } from '../../store/transactions/attempts.ts'
import { abandon, markBroadcast, markWaiting } from '../../store/transactions/states.ts'
import type { SendOutcome } from './node.ts'
import { type Sender, type View, writeAsHolder } from './sender.ts'
import { storedHex } from './transaction.ts'

export interface Due {
  row: TransactionRow
  attempt: TransactionAttemptRow
}

type Answer = Due & { outcome: SendOutcome; words: string | null }

export interface Sent {
  /** An error of the connection or the node that says nothing about the transaction. */
  trouble: string | undefined
  waitingForFunds: boolean
}

/**
 * Sends attempts while later ones are signed, since the node and this process work at the same time. Sending the same
 * bytes twice is harmless, so a missing answer is always followed by resending.
 */
export class Sending {
  readonly #sender: Sender
  readonly #underWay: Promise<void>[] = []
  /** Not recorded yet. */
  #news: Answer[] = []
  #trouble: string | undefined
  readonly #poor: Set<number>

  constructor(sender: Sender, view: View) {
    this.#sender = sender
    this.#poor = new Set(view.rows.flatMap(({ id, waiting }) => (waiting === 'funds' ? [id] : [])))
  }

  begin(attempts: readonly Due[]): void {
    const now = this.#sender.clock.monotonic()
    for (const due of attempts) this.#underWay.push(this.#send(due, now))
  }

  /** Records what the node has answered by now, as a part of a write. @returns what to call once that is committed */
  async record(trx: Queries, at: string): Promise<() => Promise<void>> {
    const news = [...this.#news]
    await record(trx, news, at)
    return async () => {
      this.#news = this.#news.filter((answer) => !news.includes(answer))
      await this.#sender.changed(news.map(({ row }) => row.id))
    }
  }

  /** Waits for the node, without recording. */
  async answered(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async end(): Promise<Sent> {
    await this.answered()
    if (this.#news.length > 0) {
      const recorded = await writeAsHolder(this.#sender, (trx, at) => this.record(trx, at))
      await recorded()
    }
    return { trouble: this.#trouble, waitingForFunds: this.#poor.size > 0 }
  }

  async #send({ row, attempt }: Due, now: number): Promise<void> {
    const { node, memory } = this.#sender
    const answer = { row, attempt, ...(await node.send(storedHex(attempt.raw))) }
    const { outcome, words } = answer
    const firstAt = memory.sent.get(attempt.id)?.firstAt ?? now
    memory.sent.set(attempt.id, { firstAt, at: now, outcome })
    if (outcome === 'unknown') this.#trouble ??= words ?? undefined
    if (outcome === 'no-funds') this.#poor.add(row.id)
    else this.#poor.delete(row.id)
    if (isNews(answer)) this.#news.push(answer)
  }
}

/** The last attempt of each transaction until a node accepts it, and again now and then. */
export function due({ memory, pace, clock }: Sender, view: View): Due[] {
  const now = clock.monotonic()
  const list: Due[] = []
  for (const row of view.rows) {
    if (row.state === 'mined') continue
    const attempt = view.attempts.get(row.id)?.at(-1)
    if (!attempt) continue
    const last = memory.sent.get(attempt.id)
    const taken = row.state === 'broadcast' && attempt.sentAt !== null
    if (!last || !taken || now - last.at >= pace.resendMs) list.push({ row, attempt })
  }
  return list
}

const isNews = ({ row, attempt, outcome, words }: Answer): boolean =>
  outcome === 'taken'
    ? row.state === 'signed' || attempt.sentAt === null || attempt.error !== null
    : attempt.error !== words

/** True if the wait is due to sending, not to the chain's fees. */
const isAboutSending = (waiting: TransactionRow['waiting']): boolean =>
  waiting === 'node' || waiting === 'funds'

async function record(trx: Queries, news: readonly Answer[], at: string): Promise<void> {
  const taken = news.filter(({ outcome }) => outcome === 'taken')
  if (taken.length > 0) {
    const attempts = taken.map(({ attempt }) => attempt.id)
    await markAttemptsTaken(trx, attempts, at)
    await markBroadcast(trx, { ids: taken.map(({ row }) => row.id), at })
  }
  for (const { row } of taken)
    if (row.state !== 'signed' && isAboutSending(row.waiting))
      await markWaiting(trx, { id: row.id, at, waiting: null })
  for (const answer of news) if (answer.outcome !== 'taken') await recordRefusal(trx, answer, at)
}

async function recordRefusal(
  trx: Queries,
  { row, attempt, outcome, words }: Answer,
  at: string,
): Promise<void> {
  const { id } = row
  await markAttemptError(trx, attempt.id, words ?? outcome)
  // It holds a nonce, so a transaction that can never be mined would block all later ones.
  if (outcome === 'impossible' && attempt.purpose === 'effect')
    await abandon(trx, { id, at, reason: words ?? 'no node accepts it' })
  else if (outcome === 'no-funds') await markWaiting(trx, { id, at, waiting: 'funds' })
  else if (outcome === 'below-base-fee') await markWaiting(trx, { id, at, waiting: 'fees' })
  else if (outcome === 'unknown') await markWaiting(trx, { id, at, waiting: 'node' })
}
