import { toHex } from 'viem'
import type { Answer, Call } from '../hostile-node.ts'
import { type Mode, numberOf } from './modes.ts'

// Nodes that do not know yet what others know.

/** The latest count of an account's transactions is some blocks old, each n-th time, while heads are fresh. */
export function laggingNonce(blocks: number, nth = 1): Mode {
  let asked = 0
  return async ({ method, params: [account, block] }, { ask }) => {
    if (method !== 'eth_getTransactionCount' || block !== 'latest') return undefined
    asked += 1
    if (asked % nth !== 0) return undefined
    const head = numberOf(await ask('eth_blockNumber'))
    return { result: await ask(method, [account, toHex(Math.max(0, head - blocks))]) }
  }
}

/** Says at each first question about something that is there, and at each third one after it, that it is not. */
function forgetful(methods: readonly string[], about: (call: Call) => string | undefined): Mode {
  const asked = new Map<string, number>()
  return (call) => {
    const what = methods.includes(call.method) ? about(call) : undefined
    if (what === undefined) return undefined
    const change = (honest: Answer): Answer => {
      if (honest.result === null || honest.result === undefined) return honest
      const before = asked.get(what) ?? 0
      asked.set(what, before + 1)
      return before % 3 === 0 ? { result: null } : honest
    }
    return { change }
  }
}

export const lostReceipts = (): Mode =>
  forgetful(['eth_getTransactionReceipt'], ({ params }) => String(params[0]))

export const missingBlocks = (): Mode =>
  forgetful(['eth_getBlockByNumber'], ({ params: [number] }) =>
    String(number).startsWith('0x') ? String(number) : undefined,
  )

/** Which of its parameters is a block. */
const blockOf: Record<string, number> = {
  eth_getBlockByNumber: 0,
  eth_getTransactionCount: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_call: 1,
}

/**
 * Some blocks behind the chain, in all that it says.
 * @param lags by turns of its requests, as where several nodes share a URL
 */
export function behind(...lags: readonly number[]): Mode {
  let requests = 0
  return async ({ method, params }, { ask, index }) => {
    if (index === 0) requests += 1
    const lag = lags[requests % lags.length] ?? 0
    if (lag === 0) return undefined
    const head = Math.max(0, numberOf(await ask('eth_blockNumber')) - lag)
    if (method === 'eth_blockNumber') return { result: toHex(head) }
    if (method === 'eth_getTransactionReceipt') {
      const isLater = ({ result }: Answer) => Number(Object(result).blockNumber) > head
      return { change: (honest) => (isLater(honest) ? { result: null } : honest) }
    }
    const at = blockOf[method]
    if (at === undefined) return undefined
    if (params[at] === 'latest') return { params: params.with(at, toHex(head)) }
    if (!(Number(params[at]) > head)) return undefined
    return method === 'eth_getBlockByNumber' ? { result: null } : { error: 'header not found' }
  }
}
