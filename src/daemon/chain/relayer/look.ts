import type { TransactionAttemptRow } from '../../store/schema.ts'
import { findSender, openAttempts, openTransactions } from '../../store/transactions.ts'
import { idOf, ofSigner, type Sender, type View } from './sender.ts'

/** The chain as it is, and what is under way. */
export async function look(sender: Sender): Promise<View> {
  const [head, used] = await Promise.all([
    sender.node.head(),
    sender.node.nonce(sender.signer.address, 'latest'),
  ])
  return { head, used, ...(await underWay(sender, used)) }
}

/** The same view of the chain after a write. */
export const lookAgain = async (sender: Sender, view: View): Promise<View> => ({
  ...view,
  ...(await underWay(sender, view.used)),
})

async function underWay(sender: Sender, used: number): Promise<Pick<View, 'rows' | 'attempts' | 'next'>> {
  const { db } = sender
  const rows = await openTransactions(db.read, ofSigner(sender))
  const attempts = new Map<number, TransactionAttemptRow[]>()
  for (const attempt of rows.length === 0 ? [] : await openAttempts(db.read, ofSigner(sender))) {
    const list = attempts.get(attempt.transactionId)
    if (list) list.push(attempt)
    else attempts.set(attempt.transactionId, [attempt])
  }
  const known = (await findSender(db.read, idOf(sender)))?.nextNonce ?? 0
  // Another program may have used the key: its nonces are gone for us.
  return { rows, attempts, next: Math.max(known, used) }
}
