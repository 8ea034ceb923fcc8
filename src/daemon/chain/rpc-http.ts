import http from 'node:http'
import https from 'node:https'
import { OutboundFailed, type Progress } from '../outbound/errors.ts'
import { Deadline, exchange } from '../outbound/exchange.ts'
import type { RpcWire } from './rpc-connection.ts'

/** JSON-RPC over HTTP keep-alive connections, which takes a third of the time of `fetch`. */
export function rpcOverHttp(address: string): RpcWire {
  const url = new URL(address)
  // Idle connections close before most servers would close them, so that a request does not hit a closing
  // connection.
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
        const retryAfter = answer.headers['retry-after']
        return { status: answer.status, retryAfter, body: answer.body }
      } finally {
        deadline.clear()
      }
    },
    close: () => pool.destroy(),
  }
}
