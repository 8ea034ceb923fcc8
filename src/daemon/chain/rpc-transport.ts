import { custom, RpcRequestError, type Transport } from 'viem'
import { inWords } from '../outbound/words.ts'
import { assertShape } from './rpc-answers.ts'
import { type RpcCall, RpcConnection, type RpcError } from './rpc-connection.ts'
import { rpcOverHttp } from './rpc-http.ts'
import { callsOfOneTurn } from './rpc-turns.ts'

/**
 * For a whole exchange. With the longest pause of the relayer it stays under ten seconds: so soon a chain goes on
 * whose node was silent and is well again.
 */
export const nodePatienceMs = 6000
/** A hundred receipts, or a block with all that is in it. */
const mostBytes = 8 * 1024 * 1024
/** Those receipts, with the logs of a hundred events each. */
const mostMembers = 100_000
// Nodes take a hundred calls at once, and some no more.
const mostTogether = 100

/**
 * The way to a node that others run, for viem's clients. Requests of one turn travel together, and none is repeated
 * by itself: whoever asks decides what a silence means. An answer is whole, in time and in its proper shape, or it
 * is none.
 */
export function rpcTransport(url: string, timeoutMs = nodePatienceMs): Transport {
  const connection = new RpcConnection(url, rpcOverHttp(url), {
    timeoutMs,
    maxBytes: mostBytes,
    maxMembers: mostMembers,
  })
  const ask = callsOfOneTurn((calls) => connection.batch(calls), mostTogether)
  const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
    const call = { method, params: Array.isArray(params) ? params : [] }
    const outcome = await ask(call)
    if ('error' in outcome) throw saidByNode(call, outcome.error, url)
    assertShape(call, outcome.result)
    return outcome.result
  }
  return custom({ request }, { key: 'node', name: 'JSON-RPC node', retryCount: 0 })
}

// Reasons of contracts are shorter, and what is longer is cut wherever it is shown.
const mostData = 8192

/** A node's error as viem's own transports throw it, as long as it is worth keeping, and without the URL's key. */
export function saidByNode(call: RpcCall, { code, message, data }: RpcError, url: string): RpcRequestError {
  const isShort = typeof data === 'string' && data.length <= mostData
  const error = { code, message: inWords(message), ...(isShort ? { data } : {}) }
  return new RpcRequestError({ body: { ...call }, error, url: new URL(url).origin })
}
