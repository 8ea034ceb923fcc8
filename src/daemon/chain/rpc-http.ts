import http from 'node:http'
import https from 'node:https'
import { Deadline } from '../outbound/deadline.ts'
import { OutboundFailed, type Progress } from '../outbound/errors.ts'
import { exchange } from '../outbound/exchange.ts'
import type { RpcWire } from './rpc-connection.ts'

/** JSON-RPC by HTTP over connections that stay open: a third of the time that `fetch` takes for the same call. */
export function rpcOverHttp(address: string): RpcWire {
  const url = new URL(address)
  // Idle connections are closed before most servers close them: a request must not meet its connection's end.
  const options = { keepAlive: true, maxSockets: 64, timeout: 4000 }
  const pool = url.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options)
  return {
    async post(body, { timeoutMs, maxBytes }) {
      const progress: Progress = { sent: false }
      const late = `${url.origin} did not answer in full within ${timeoutMs} ms`
      const deadline = new Deadline(timeoutMs, () => new OutboundFailed('timeout', late, progress.sent))
      const headers = { 'content-type': 'application/json' }
      try {
        const call = { url, method: 'POST', headers, body, via: { pool }, maxBytes, deadline, progress }
        const answer = await exchange(call)
        return { status: answer.status, body: answer.body }
      } finally {
        deadline.clear()
      }
    },
    close: () => pool.destroy(),
  }
}
