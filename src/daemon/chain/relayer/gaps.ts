import type { TransactionRow } from '../../store/schema.ts'
import { attemptsOf, insertAttempts } from '../../store/transactions/attempts.ts'
import { insertTransaction, transactionsFromNonce } from '../../store/transactions/intents.ts'
import { markSigned, markUnmined } from '../../store/transactions/states.ts'
import { type Fees, firstFees, replacementFees } from './fees.ts'
import { idOf, marketOf, ofSigner, type Sender, type View, writeAsHolder } from './sender.ts'
import { emptyCall, feesOf, fillerGas, fillerKind, signAttempt } from './sign-attempt.ts'

/**
 * Every nonce from the lowest unmined one to the last one issued must be pending, or all later ones are stuck.
 * Resends what the chain forgot, and fills nonces that nothing will use.
 * @returns true if anything changed
 */
export async function closeGaps(sender: Sender, view: View): Promise<boolean> {
  if (view.next <= view.used) return false
  const { chainId, address } = idOf(sender)
  const limit = sender.pace.maxInFlight * 4
  const beyond = await transactionsFromNonce(sender.db.read, {
    chainId,
    sender: address,
    nonce: view.used,
    limit,
  })
  if (isNodeBehind(sender, view, beyond)) return false

  const forgotten = beyond.filter((row) => row.state === 'confirmed')
  const alive = new Set(
    beyond.filter((row) => row.settledAt === null || row.state === 'confirmed').map(({ nonce }) => nonce),
  )
  const seen = beyond.length < limit ? view.next : (beyond.at(-1)?.nonce ?? view.next)
  const end = Math.min(seen, view.next, view.used + sender.pace.maxInFlight)
  const gaps: number[] = []
  for (let nonce = view.used; nonce < end; nonce++) if (!alive.has(nonce)) gaps.push(nonce)
  if (forgotten.length === 0 && gaps.length === 0) return false

  const fillers = await fillersFor(sender, view, gaps, beyond)
  await writeAsHolder(sender, async (trx, at) => {
    for (const { id } of forgotten) await markUnmined(trx, { id, at })
    for (const filler of fillers) {
      const call = emptyCall(sender)
      const id = await insertTransaction(trx, {
        ...ofSigner(sender),
        ...call,
        teamId: null,
        kind: fillerKind,
        subject: JSON.stringify({ nonce: filler.nonce }),
        createdAt: at,
        gas: fillerGas,
        builder: null,
        topic: null,
        args: null,
      })
      const { nonce, hash: firstHash } = filler
      const none = { sequence: null, sequenceValue: null }
      await markSigned(trx, { id, at, sender: address, nonce, ...call, ...none, firstHash, signings: 1 })
      await insertAttempts(trx, [{ ...filler, transactionId: id }])
    }
  })
  return true
}

type FromNonce = Pick<TransactionRow, 'id' | 'nonce' | 'settledAt' | 'blockNumber'>

/** One of several nodes behind a URL may lag: it never had the block, rather than having forgotten it. */
function isNodeBehind({ chain }: Sender, view: View, beyond: readonly FromNonce[]): boolean {
  if (chain.forgets) return false
  return beyond.some((row) => row.settledAt !== null && (row.blockNumber ?? 0) > view.head.number)
}

async function fillersFor(sender: Sender, view: View, gaps: readonly number[], beyond: readonly FromNonce[]) {
  if (gaps.length === 0) return []
  const market = await marketOf(sender, view.head)
  const signed = gaps.map(async (nonce) => {
    // A node may still hold an earlier transaction with this nonce, which the filler must be able to replace.
    const earlier = await Promise.all(
      beyond.filter((row) => row.nonce === nonce).map((row) => attemptsOf(sender.db.read, row.id)),
    )
    const atThisNonce = earlier.flat().filter((attempt) => attempt.nonce === nonce)
    const last = atThisNonce.reduce<Fees | undefined>((highest, attempt) => {
      const fees = feesOf(attempt)
      return highest && highest.maxFeePerGas > fees.maxFeePerGas ? highest : fees
    }, undefined)
    const fees = last ? (replacementFees(last, market) ?? last) : firstFees(market)
    return (
      fees && signAttempt(sender, { purpose: 'filler', nonce, gas: fillerGas, fees, call: emptyCall(sender) })
    )
  })
  return (await Promise.all(signed)).filter((attempt) => attempt !== undefined)
}
