import { firstWaiting } from '../../store/chain/intents.ts'
import { markWaiting } from '../../store/chain/states.ts'
import { messageOf } from '../node-answer.ts'
import { whyItWaits } from './errors.ts'
import { ofSigner, type Sender, type SenderStatus, type View, writeAsHolder } from './sender.ts'

// Plus the time after which an accepted transaction is resent, this is less than half a minute.
const stuckAfterMs = 10_000
/** On chains with slow blocks, this many blocks take longer than the time above. */
const unminedFor = { ms: 15_000, blocks: 12 }
/** Shorter, because a lagging node should have the lowest nonce by then. */
const refusedForMs = 10_000

/** Returns the first transaction that has been stuck for a while. @param trouble error of a failed tick */
export async function stuckOf(sender: Sender, trouble?: Error): Promise<SenderStatus['stuck']> {
  const { db, memory, clock } = sender
  const first = await firstWaiting(db.read, ofSigner(sender))
  const now = clock.monotonic()
  if (!first) memory.waits = undefined
  else if (memory.waits?.id !== first.id) memory.waits = { id: first.id, at: now }
  if (!first || !memory.waits || now - memory.waits.at < stuckAfterMs) return undefined
  return {
    id: first.id,
    why: first.waitingWords ?? (trouble ? messageOf(trouble) : whyItWaits(first.waiting)),
  }
}

/** Explains why the lowest nonce is not mined: no block contains it although a node has it, or no node has it. */
export async function markUnmined(sender: Sender, { head, rows, attempts }: View): Promise<void> {
  const { memory, clock } = sender
  const row = rows.find(({ state }) => state === 'signed' || state === 'broadcast')
  const now = clock.monotonic()
  if (!row) memory.first = undefined
  else if (memory.first?.id !== row.id) memory.first = { id: row.id, at: now, block: head.number }
  if (!row || row.waiting !== null || !memory.first) return
  const ms = now - memory.first.at
  const blocks = head.number - memory.first.block
  const mark = (waiting: 'node' | 'block', words: string) =>
    writeAsHolder(sender, (trx, at) => markWaiting(trx, { id: row.id, at, waiting, words }))
  const last = memory.sent.get(attempts.get(row.id)?.at(-1)?.id ?? 0)
  if (row.state === 'signed') {
    if (last?.words && ms >= refusedForMs) await mark('node', last.words)
    // It was sent again in this tick, and may have been refused.
  } else if (last?.outcome === 'taken' && ms >= unminedFor.ms && blocks >= unminedFor.blocks)
    await mark('block', `the node has accepted it, and none of the ${blocks} blocks since contains it`)
}
