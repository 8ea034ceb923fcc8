import http from 'node:http'
import https from 'node:https'
import { custom, RpcRequestError, type Transport } from 'viem'
import { Deadline } from '../outbound/deadline.ts'
import { OutboundFailed, type Progress } from '../outbound/errors.ts'
import { exchange } from '../outbound/exchange.ts'
import { plainText } from '../outbound/foreign-text.ts'
import { assertShape } from './rpc-answers.ts'
import {
  type RpcCall,
  RpcConnection,
  type RpcError,
  type RpcOutcome,
  type RpcWire,
} from './rpc-connection.ts'

/**
 * For a whole exchange. Together with the relayer's longest pause it stays below ten seconds, so that a chain
 * continues this soon after its node recovers.
 */
export const nodeTimeoutMs = 6000
/** A hundred receipts, or a full block. */
const mostBytes = 8 * 1024 * 1024
/** Those receipts with the logs of a hundred events each. */
const mostMembers = 100_000
// Nodes accept a hundred calls at once, and some no more.
const mostTogether = 100

/**
 * A viem transport for a remote node. Calls of one turn of the event loop are batched, and none is retried: the
 * caller decides what a missing answer means. An answer must be complete, in time, and well-formed.
 */
export function rpcTransport(url: string, timeoutMs = nodeTimeoutMs): Transport {
  const connection = new RpcConnection(url, rpcOverHttp(url), {
    timeoutMs,
    maxBytes: mostBytes,
    maxMembers: mostMembers,
  })
  const ask = batchPerTurn((calls) => connection.batch(calls), mostTogether)
  const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
    const call = { method, params: Array.isArray(params) ? params : [] }
    const outcome = await ask(call)
    if ('error' in outcome) throw nodeError(call, outcome.error, url)
    assertShape(call, outcome.result)
    return outcome.result
  }
  return custom({ request }, { key: 'node', name: 'JSON-RPC node', retryCount: 0 })
}

// Contracts' revert reasons are shorter, and longer ones are cut wherever they are shown.
const mostData = 8192

/** Makes a node's error like viem's own transports, bounded in length, and without the API key in the URL. */
export function nodeError(call: RpcCall, { code, message, data }: RpcError, url: string): RpcRequestError {
  const isShort = typeof data === 'string' && data.length <= mostData
  const error = { code, message: plainText(message), ...(isShort ? { data } : {}) }
  return new RpcRequestError({ body: { ...call }, error, url: new URL(url).origin })
}

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
        return { status: answer.status, body: answer.body }
      } finally {
        deadline.clear()
      }
    },
    close: () => pool.destroy(),
  }
}

interface Waiting {
  call: RpcCall
  resolve(outcome: RpcOutcome): void
  reject(error: unknown): void
}

/**
 * Batches the calls of one turn of the event loop, because a round trip costs more than a call.
 * @param mostTogether the maximum batch size
 */
export function batchPerTurn(
  perform: (calls: readonly RpcCall[]) => Promise<readonly RpcOutcome[]>,
  mostTogether: number,
): (call: RpcCall) => Promise<RpcOutcome> {
  let waiting: Waiting[] = []
  const endTurn = () => {
    const turn = waiting
    waiting = []
    for (let at = 0; at < turn.length; at += mostTogether) {
      const together = turn.slice(at, at + mostTogether)
      perform(together.map(({ call }) => call)).then(
        (outcomes) => {
          for (const [index, { resolve }] of together.entries())
            resolve(outcomes[index] ?? { error: { code: -32603, message: 'no answer' } })
        },
        (error: unknown) => {
          for (const { reject } of together) reject(error)
        },
      )
    }
  }
  return (call) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(endTurn)
      waiting.push({ call, resolve, reject })
    })
}
