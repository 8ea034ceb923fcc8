import type { TransactionAttemptRow, TransactionRow } from '../../store/schema.ts'
import { markAttemptError, markAttemptTaken } from '../../store/transactions/attempts.ts'
import { abandon, markBroadcast, markWaiting } from '../../store/transactions/states.ts'
import type { SendOutcome } from './node.ts'
import { type Sender, type View, writeAsHolder } from './sender.ts'
import { storedHex } from './transaction.ts'

interface Due {
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
 * Sends the last attempt of each transaction until a node accepts it, and again now and then. Sending the same
 * bytes twice is harmless, so a missing answer is always followed by resending.
 */
export async function send(sender: Sender, view: View): Promise<Sent> {
  const now = sender.clock.monotonic()
  const answers = await Promise.all(
    due(sender, view, now).map(async ({ row, attempt }): Promise<Answer> => {
      const answer = await sender.node.send(storedHex(attempt.raw))
      const firstAt = sender.memory.sent.get(attempt.id)?.firstAt ?? now
      sender.memory.sent.set(attempt.id, { firstAt, at: now, outcome: answer.outcome })
      return { row, attempt, ...answer }
    }),
  )
  const news = answers.filter(isNews)
  if (news.length > 0) {
    await writeAsHolder(sender, async (trx, at) => {
      for (const answer of news) await record(trx, answer, at)
    })
    await sender.changed(news.map(({ row }) => row.id))
  }
  const poor = new Set(view.rows.flatMap(({ id, waiting }) => (waiting === 'funds' ? [id] : [])))
  for (const { row, outcome } of answers) {
    if (outcome === 'no-funds') poor.add(row.id)
    else poor.delete(row.id)
  }
  return {
    trouble: answers.find(({ outcome }) => outcome === 'unknown')?.words ?? undefined,
    waitingForFunds: poor.size > 0,
  }
}

function due({ memory, pace }: Sender, view: View, now: number): Due[] {
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

async function record(
  trx: Parameters<typeof markBroadcast>[0],
  { row, attempt, outcome, words }: Answer,
  at: string,
): Promise<void> {
  const { id } = row
  if (outcome === 'taken') {
    await markAttemptTaken(trx, attempt.id, at)
    if (!(await markBroadcast(trx, { id, at })) && isAboutSending(row.waiting))
      await markWaiting(trx, { id, at, waiting: null })
    return
  }
  await markAttemptError(trx, attempt.id, words ?? outcome)
  // It holds a nonce, so a transaction that can never be mined would block all later ones.
  if (outcome === 'impossible' && attempt.purpose === 'effect')
    await abandon(trx, { id, at, reason: words ?? 'no node accepts it' })
  else if (outcome === 'no-funds') await markWaiting(trx, { id, at, waiting: 'funds' })
  else if (outcome === 'below-base-fee') await markWaiting(trx, { id, at, waiting: 'fees' })
  else if (outcome === 'unknown') await markWaiting(trx, { id, at, waiting: 'node' })
}
