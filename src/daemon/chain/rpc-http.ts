import { openHttpPool } from '../outbound/http-pool.ts'
import type { RpcWire } from './rpc-connection.ts'

/** JSON-RPC over HTTP. */
export function rpcOverHttp(address: string): RpcWire {
  const pool = openHttpPool(address)
  return {
    async post(body, limits) {
      const answer = await pool.request({ method: 'POST', body, ...limits })
      return { status: answer.status, retryAfter: answer.headers['retry-after'], body: answer.body }
    },
    close: pool.close,
  }
}
