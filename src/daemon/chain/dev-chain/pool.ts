import type { Hex } from 'viem'
import * as z from 'zod'
import type { RpcConnection } from '../rpc-connection.ts'

const pooled = z.record(z.string(), z.record(z.string(), z.object({ hash: z.string(), from: z.string() })))
const poolContent = z.object({ pending: pooled, queued: pooled })
const hex = z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value))

/** Who sent what waits to be mined, by hash. */
export async function sendersInPool(connection: RpcConnection): Promise<Map<string, string>> {
  const { pending, queued } = poolContent.parse(await connection.call('txpool_content'))
  const waiting = [...Object.values(pending), ...Object.values(queued)].flatMap((byNonce) =>
    Object.values(byNonce),
  )
  return new Map(waiting.map(({ hash, from }) => [hash, from.toLowerCase()]))
}

/** What waits to be mined, as it was signed. Without what anvil itself made for an account it was told to play. */
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
