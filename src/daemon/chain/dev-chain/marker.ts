import type { Address } from 'viem'
import type { RpcConnection } from './rpc.ts'

/** "tapchip", in an address that nobody has the key of. */
const place: Address = '0x7461706368697000000000000000000000000001'

/** Writes whose chain this is into the chain itself: a port says nothing, others may have it by now. */
export const mark = (connection: RpcConnection, marker: string): Promise<unknown> =>
  connection.call('anvil_setCode', [place, marker])

/** @returns what {@link mark} wrote, or undefined where nothing answers, or something else */
export async function markerOf(connection: RpcConnection): Promise<string | undefined> {
  try {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getCode', params: [place, 'latest'] })
    const answer: unknown = JSON.parse((await connection.send(body, 2000)).toString())
    return typeof answer === 'object' && answer !== null && 'result' in answer
      ? String(answer.result)
      : undefined
  } catch {
    return undefined
  }
}
