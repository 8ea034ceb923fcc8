import {
  attemptsOf,
  insertAttempts,
  insertTransaction,
  transactionsFromNonce,
} from '../../store/chain/intents.ts'
import { markSigned, markUnmined } from '../../store/chain/states.ts'
import { type Fees, firstFees, replacementFees } from './fees.ts'
import { idOf, marketOf, ofSigner, type Sender, type View, writeAsHolder } from './sender.ts'
import { emptyCall, feesOf, fillerKind, signAttempt } from './sign-attempt.ts'
import { storedHex } from './transaction.ts'

export interface GapsResult {
  changed: boolean
  /** The number of used nonces; a lagging node reports too few. */
  used: number
}

/**
 * Every nonce from the lowest unmined one to the last one issued must be pending, or all later ones are stuck.
 * Resends what the chain forgot, and fills nonces that nothing will use.
 */
export async function closeGaps(sender: Sender, view: View): Promise<GapsResult> {
  const { used } = view
  if (view.next <= used) return { changed: false, used }
  const { chainId, address } = idOf(sender)
  const limit = sender.timing.maxInFlight * 4
  const issued = await transactionsFromNonce(sender.db.read, { chainId, sender: address, nonce: used, limit })
  const last = issued.findLast(({ settledAt, minedHash }) => settledAt !== null && minedHash !== null)
  if (last && (await isStillPending(sender, view, last)))
    return { changed: false, used: (last.nonce ?? used) + 1 }

  const forgotten = await forgottenOf(sender, issued)
  const alive = new Set(
    issued.filter((row) => row.settledAt === null || row.state === 'confirmed').map(({ nonce }) => nonce),
  )
  const lastKnown = issued.length < limit ? view.next : (issued.at(-1)?.nonce ?? view.next)
  const end = Math.min(lastKnown, view.next, used + sender.timing.maxInFlight)
  const gaps: number[] = []
  for (let nonce = used; nonce < end; nonce++) if (!alive.has(nonce)) gaps.push(nonce)
  if (forgotten.length === 0 && gaps.length === 0) return { changed: false, used }

  const fillers = await fillersFor(sender, view, gaps, issued)
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
        gas: filler.gas,
        builder: null,
        topic: null,
        args: null,
      })
      const { nonce, hash: firstHash } = filler
      const none = { sequence: null, sequenceValue: null }
      const signed = { signings: 1, signedBlock: view.head.number }
      await markSigned(trx, {
        id,
        at,
        signer: sender.name,
        sender: address,
        nonce,
        ...call,
        ...none,
        firstHash,
        ...signed,
      })
      await insertAttempts(trx, [{ ...filler, transactionId: id }])
    }
  })
  return { changed: true, used }
}

type FromNonce = Awaited<ReturnType<typeof transactionsFromNonce>>[number]

/**
 * The nonce of a settled transaction is used as long as its block is in the chain. If the node reports it as free,
 * the node lags behind the one at the same URL that reported the head.
 */
async function isStillPending(sender: Sender, { head }: View, row: FromNonce): Promise<boolean> {
  const number = row.blockNumber ?? 0
  if (number > head.number) return sender.chain.forgets !== true
  return (number === head.number ? head.hash : await sender.node.blockHash(number)) === row.blockHash
}

/** Confirmed transactions that are no longer in any block, according to their receipts. */
async function forgottenOf({ node }: Sender, issued: readonly FromNonce[]): Promise<FromNonce[]> {
  const confirmed = issued.filter(({ state }) => state === 'confirmed')
  const receipts = await Promise.all(confirmed.map(({ minedHash }) => node.inclusion(storedHex(minedHash))))
  return confirmed.filter((_, at) => receipts[at] === undefined)
}

async function fillersFor(sender: Sender, view: View, gaps: readonly number[], issued: readonly FromNonce[]) {
  if (gaps.length === 0) return []
  const [market, gas] = await Promise.all([marketOf(sender, view.head), sender.gas.limitOfFiller()])
  const isLegacy = view.head.baseFee === undefined
  const signed = gaps.map(async (nonce) => {
    // A node may still hold an earlier transaction with this nonce, which the filler must be able to replace.
    const earlier = await Promise.all(
      issued.filter((row) => row.nonce === nonce).map((row) => attemptsOf(sender.db.read, row.id)),
    )
    const atThisNonce = earlier.flat().filter((attempt) => attempt.nonce === nonce)
    const last = atThisNonce.reduce<Fees | undefined>((highest, attempt) => {
      const fees = feesOf(attempt)
      return highest && highest.maxFeePerGas > fees.maxFeePerGas ? highest : fees
    }, undefined)
    const fees = last ? (replacementFees(last, market) ?? last) : firstFees(market)
    const call = emptyCall(sender)
    return fees && signAttempt(sender, { purpose: 'filler', nonce, gas, fees, isLegacy, call })
  })
  return (await Promise.all(signed)).filter((attempt) => attempt !== undefined)
}
