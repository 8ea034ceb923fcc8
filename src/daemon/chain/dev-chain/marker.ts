import type { Address } from 'viem'
import type { RpcConnection } from '../rpc-connection.ts'

/** "tapchip", in an address that nobody has the key of. */
const place: Address = '0x7461706368697000000000000000000000000001'

/** Writes whose chain this is into the chain itself: a port says nothing, others may have it by now. */
export const mark = (connection: RpcConnection, marker: string): Promise<unknown> =>
  connection.call('anvil_setCode', [place, marker])

/** @returns what {@link mark} wrote, or undefined where nothing answers, or something else */
export async function markerOf(connection: RpcConnection): Promise<string | undefined> {
  try {
    return String(await connection.call('eth_getCode', [place, 'latest'], { timeoutMs: 2000 }))
  } catch {
    return undefined
  }
}
