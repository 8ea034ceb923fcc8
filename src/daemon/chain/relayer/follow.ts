import type { Hex } from 'viem'
import { markMined, markUnmined, markWaiting } from '../../store/chain/states.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { messageOf } from '../node-answer.ts'
import type { Inclusion } from './node.ts'
import { isTooEarly, retryLater, type Sender, type View, writeAsHolder } from './sender.ts'
import { fillerKind } from './sign-attempt.ts'
import { storedHex } from './transaction.ts'
import { type Change, doneBy, resign, settle, verdictOn } from './verdict.ts'

/** Detects mined, reorganized, and final transactions. @returns true if anything changed */
export async function follow(sender: Sender, view: View): Promise<boolean> {
  const takenBack = await inOtherBlocks(sender, view)
  const candidates = view.rows.filter(
    (row) => takenBack.has(row.id) || (row.state !== 'mined' && (row.nonce ?? 0) < view.used),
  )
  const found = await inclusionsOf(sender, view, candidates)
  const deep = (block: number) => view.head.number - block + 1 >= sender.chain.confirmations
  const changes: Change[] = []

  for (const row of candidates) {
    const inclusion = found.get(row.id)
    if (inclusion) {
      sender.memory.absent.delete(row.id)
      const { hash: minedHash, blockHash, blockNumber } = inclusion
      const mined = {
        id: row.id,
        minedHash,
        blockHash,
        blockNumber,
        succeeded: inclusion.succeeded ? 1 : 0,
      } as const
      const verdict = deep(blockNumber)
        ? await onceReadable(sender, view, row, () => verdictOn(sender, view, { ...row, ...mined }))
        : []
      if (!verdict.some(({ mines }) => mines))
        changes.push({ id: row.id, write: (trx, at) => markMined(trx, { ...mined, at }) })
      changes.push(...verdict)
    } else if (takenBack.has(row.id)) {
      changes.push({ id: row.id, write: (trx, at) => markUnmined(trx, { id: row.id, at }) })
      // A node may have dropped it from its pool when it was mined, so it is resent in this tick.
      for (const { id } of view.attempts.get(row.id) ?? []) sender.memory.sent.delete(id)
    } else {
      changes.push(...(await onceReadable(sender, view, row, () => nonceLost(sender, view, row))))
    }
  }
  for (const row of view.rows) {
    if (row.state === 'mined' && !takenBack.has(row.id) && deep(row.blockNumber ?? Number.POSITIVE_INFINITY))
      changes.push(...(await onceReadable(sender, view, row, () => verdictOn(sender, view, row))))
  }

  if (changes.length === 0) return false
  await writeAsHolder(sender, async (trx, at) => {
    for (const change of changes) await change.write(trx, at)
  })
  await sender.changed(new Set(changes.map(({ id }) => id)))
  return true
}

/** If the chain cannot be read, this is tried again later, and the row shows the reason until then. */
async function onceReadable(
  sender: Sender,
  view: View,
  row: Pick<TransactionRow, 'id' | 'waiting' | 'waitingWords'>,
  ask: () => Promise<Change[]>,
): Promise<Change[]> {
  if (isTooEarly(sender, view, row)) return []
  try {
    return await ask()
  } catch (error) {
    retryLater(sender, view, row)
    const [id, words] = [row.id, messageOf(error)]
    if (row.waiting === 'builder' && row.waitingWords === words) return []
    return [{ id, write: (trx, at) => markWaiting(trx, { id, at, waiting: 'builder', words }) }]
  }
}

/** Rows whose block was replaced by a reorganization. Asks once per block, not per transaction. */
async function inOtherBlocks({ node, chain }: Sender, view: View): Promise<Set<number>> {
  const mined = view.rows.filter((row) => row.state === 'mined')
  const hashes = new Map<number, Hex | undefined>()
  await Promise.all(
    [...new Set(mined.map((row) => row.blockNumber ?? 0))].map(async (number) => {
      hashes.set(number, number === view.head.number ? view.head.hash : await node.blockHash(number))
    }),
  )
  // A node that lacks a block below the head lags behind the node that reported the head, so it has no
  // receipt either.
  const isOther = ({ blockNumber, blockHash }: TransactionRow) => {
    const hash = hashes.get(blockNumber ?? 0)
    return hash === undefined ? chain.forgets === true : hash !== blockHash
  }
  return new Set(mined.filter(isOther).map(({ id }) => id))
}

/**
 * Asks for every attempt at the row's nonce, because a replaced one may have been mined. Attempts with earlier nonces
 * have failed for good and are left out: a lagging node may know only their receipts, and signing again would double
 * the effect.
 */
async function inclusionsOf({ node }: Sender, view: View, rows: readonly TransactionRow[]) {
  const found = new Map<number, Inclusion>()
  await Promise.all(
    rows
      .flatMap((row) => (view.attempts.get(row.id) ?? []).filter(({ nonce }) => nonce === row.nonce))
      .map(async ({ transactionId, hash }) => {
        const inclusion = await node.inclusion(storedHex(hash))
        if (inclusion) found.set(transactionId, inclusion)
      }),
  )
  return found
}

/** Something else used the nonce: once proven, the intent is signed again, or given up if requested. */
async function nonceLost(sender: Sender, view: View, row: TransactionRow): Promise<Change[]> {
  if (!(await isProvenAbsent(sender, view, row))) return []
  sender.memory.absent.delete(row.id)
  const { id } = row
  const givenUp = row.kind === fillerKind ? 'something else used its nonce' : row.abandonedBecause
  const copy = await doneBy(sender, row, view.head.number)
  if (copy) {
    const reason = `its effect came by another transaction, ${copy}`
    return [{ id, write: (trx, at) => settle(sender, trx, row, { id, at, state: 'cancelled', reason }) }]
  }
  return givenUp === null
    ? [resign(sender, row, 'cancelled')]
    : [{ id, write: (trx, at) => settle(sender, trx, row, { id, at, state: 'cancelled', reason: givenUp }) }]
}

/** Nodes keep account states only for recent blocks: geth's full nodes, for 128. */
const maxKept = 100

/**
 * The nonce is used, but no attempt has a receipt: something else used it, or the node lags behind another one
 * at the same URL. A missing receipt is no proof, because acting on it could send the effect twice. Proof is a
 * final transaction of another hash with our nonce.
 */
async function isProvenAbsent(sender: Sender, view: View, row: TransactionRow): Promise<boolean> {
  const { absent } = sender.memory
  const before = absent.get(row.id)
  if (before === undefined) absent.set(row.id, view.head.number)
  if (before === undefined || row.nonce === null) return false
  // A single node keeps receipts longer than account states. It counts a nonce shortly before it has the
  // receipt, but the next block implies the complete previous one.
  if (sender.chain.forgets) return view.head.number > before
  const block = await whereUsed(sender, view, row.nonce)
  // No node lags by this much, and the receipt was missing in two checks.
  if (block === 'long ago') return true
  if (block === undefined || view.head.number - block + 1 < sender.chain.confirmations) return false
  const user = await sender.node.transactionWith(block, sender.signer.address, row.nonce)
  return user !== undefined && !view.attempts.get(row.id)?.some(({ hash }) => hash === user)
}

/** Bisects the block that used a nonce; undefined if the node does not know. */
async function whereUsed(
  { node, signer }: Sender,
  { head }: View,
  nonce: number,
): Promise<number | 'long ago' | undefined> {
  const isUsedAt = async (block: number) => (await node.nonce(signer.address, block)) > nonce
  try {
    let before = Math.max(0, head.number - maxKept)
    if (await isUsedAt(before)) return head.number > maxKept ? 'long ago' : undefined
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
