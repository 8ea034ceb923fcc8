import { type Hex, keccak256 } from 'viem'
import * as z from 'zod'
import type { RpcConnection } from '../rpc-connection.ts'

const chunkSize = 500
const batchSize = 100

/** Refusals of a transaction that the chain has already, or for which it has a replacement. */
const settled = /nonce too low|already imported|already known|underpriced/i

interface Target {
  connection: RpcConnection
  emptyPool(): Promise<void>
}

/**
 * Sends signed transactions again in order, skipping those that the chain has.
 * @returns the number of missing ones
 */
export async function replay(
  target: Target,
  transactions: AsyncIterable<Hex> | Iterable<Hex>,
): Promise<number> {
  let replayed = 0
  let chunk: Hex[] = []
  for await (const raw of transactions) {
    chunk.push(raw)
    if (chunk.length < chunkSize) continue
    const { done, waiting } = await replayChunk(target, chunk)
    replayed += done
    chunk = waiting
    // Everything waits for a missing nonce: later ones may fill the gap, but those that never will must not
    // fill the chunk.
    if (chunk.length >= chunkSize) chunk = chunk.slice(chunkSize / 2)
  }
  return replayed + (await replayChunk(target, chunk)).done
}

/** @returns the number of mined ones, and those that wait for a missing one */
async function replayChunk({ connection, emptyPool }: Target, chunk: readonly Hex[]) {
  if (chunk.length === 0) return { done: 0, waiting: [] }
  const refused = new Set<Hex>()
  let other = false
  for (let at = 0; at < chunk.length; at += batchSize) {
    const part = chunk.slice(at, at + batchSize)
    const outcomes = await connection.batch(
      part.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] })),
    )
    for (const [index, outcome] of outcomes.entries()) {
      const raw = part[index]
      if (!('error' in outcome) || raw === undefined) continue
      if (settled.test(outcome.error.message)) refused.add(raw)
      else other = true
    }
  }
  const senders = await sendersInPool(connection)
  const rest = chunk.filter((raw) => !refused.has(raw) || senders.has(keccak256(raw)))
  // A block takes the best paid first. Nonces keep one sender's order, but between senders only separate blocks
  // do, and a transaction funded by an earlier one is refused until that is mined.
  if (new Set(senders.values()).size > 1 || other) {
    await connection.call('anvil_dropAllTransactions')
    await sendInOrder({ connection, emptyPool }, rest, senders)
  } else await emptyPool()
  const left = await sendersInPool(connection)
  return {
    done: rest.filter((raw) => !left.has(keccak256(raw))).length,
    waiting: rest.filter((raw) => left.has(keccak256(raw))),
  }
}

async function sendInOrder(
  { connection, emptyPool }: Target,
  transactions: readonly Hex[],
  senders: ReadonlyMap<string, string>,
): Promise<void> {
  let previous: string | undefined
  for (const raw of transactions) {
    const sender = senders.get(keccak256(raw))
    if (sender === undefined || sender !== previous) await emptyPool()
    previous = sender
    await connection.batch([{ method: 'eth_sendRawTransaction', params: [raw] }])
  }
  await emptyPool()
}

const pooled = z.record(z.string(), z.record(z.string(), z.object({ hash: z.string(), from: z.string() })))
const poolContent = z.object({ pending: pooled, queued: pooled })
const hex = z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value))

async function sendersInPool(connection: RpcConnection): Promise<Map<string, string>> {
  const { pending, queued } = poolContent.parse(await connection.call('txpool_content'))
  const waiting = [...Object.values(pending), ...Object.values(queued)].flatMap((byNonce) =>
    Object.values(byNonce),
  )
  return new Map(waiting.map(({ hash, from }) => [hash, from.toLowerCase()]))
}

/** Pending transactions as signed, without those that anvil made for an impersonated account. */
export async function signedInPool(connection: RpcConnection): Promise<Hex[]> {
  const hashes = [...(await sendersInPool(connection)).keys()]
  const raws = await connection.batch(
    hashes.map((hash) => ({ method: 'eth_getRawTransactionByHash', params: [hash] })),
  )
  return raws.flatMap((outcome) => {
    const raw = hex.safeParse('result' in outcome ? outcome.result : undefined)
    return raw.success ? [raw.data] : []
  })
}
