import type { TransactionRow } from '../../store/schema.ts'
import type { Sender, View } from './sender.ts'

/** How far back a node knows the state of accounts: geth's full nodes keep 128 blocks. */
const kept = 100

/**
 * The nonce is used up and no attempt has a receipt: something else took it, or the node that was asked is behind
 * another one at the same URL. A receipt that is missing is no proof, since taking it for one would send the effect
 * twice. Proof is the transaction of somebody else that has our nonce, as deep as was asked for.
 */
export async function isProvenAbsent(sender: Sender, view: View, row: TransactionRow): Promise<boolean> {
  const { absent } = sender.memory
  const before = absent.get(row.id)
  if (before === undefined) absent.set(row.id, view.head.number)
  if (before === undefined || row.nonce === null) return false
  // One node, whose receipts go further back than the states of its accounts. It counts a nonce a moment before it has
  // the receipt, and has all of a block once it has the next one.
  if (sender.chain.forgets) return view.head.number > before
  const block = await whereUsed(sender, view, row.nonce)
  // Older than any node lags, and found nowhere in two looks.
  if (block === 'long ago') return true
  if (block === undefined || view.head.number - block + 1 < sender.chain.confirmations) return false
  const user = await sender.node.transactionWith(block, sender.signer.address, row.nonce)
  return user !== undefined && !view.attempts.get(row.id)?.some(({ hash }) => hash === user)
}

/** The block that used a nonce up, by bisection. undefined: this node does not say. */
async function whereUsed(
  { node, signer }: Sender,
  { head }: View,
  nonce: number,
): Promise<number | 'long ago' | undefined> {
  const isUsedAt = async (block: number) => (await node.nonce(signer.address, block)) > nonce
  try {
    let before = Math.max(0, head.number - kept)
    if (await isUsedAt(before)) return head.number > kept ? 'long ago' : undefined
    let after = head.number
    if (!(await isUsedAt(after))) return undefined
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      if (await isUsedAt(middle)) after = middle
      else before = middle
    }
    return after
  } catch {
    return undefined
  }
}
