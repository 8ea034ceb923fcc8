import { type Hex, keccak256, parseTransaction, toHex } from 'viem'
import { z } from 'zod'
import type { Answer, Call, Misbehaviour, Place } from '../hostile-node.ts'
import { randomFrom } from '../random.ts'
import { senderOf } from '../sender-of.ts'
import type { Fees } from './wordings.ts'

/** What a public node does otherwise than an honest one; undefined leaves a call to the next mode. */
export type Mode = (
  call: Call,
  /** `ask` asks the honest node. */
  at: Place & { ask(method: string, params?: unknown[]): Promise<unknown> },
) => Misbehaviour | undefined | Promise<Misbehaviour | undefined>

const isSend = ({ method }: Call) => method === 'eth_sendRawTransaction'
const rawOf = ({ params }: Call) => String(params[0]) as Hex
const hex = z.string().regex(/^0x[0-9a-f]+$/)
export const numberOf = (answer: unknown): number => Number(hex.parse(answer))

/** One error for a whole request. */
export const refusal = (status: number, error: string, code = -32005): Misbehaviour => ({
  text: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message: error } }),
  status,
})

export const notThere: Mode = ({ method }) => ({
  error: `the method ${method} does not exist/is not available`,
  code: -32601,
})

/** Nothing but some methods is touched. */
export const only =
  (methods: readonly string[], mode: Mode): Mode =>
  (call, at) =>
    methods.includes(call.method) ? mode(call, at) : undefined

/** Answers one of so many requests, whole. */
export function nowAndThen(oneOf: number, mode: Mode): Mode {
  const random = randomFrom(1)
  return (call, at) => (at.index === 0 && random() * oneOf < 1 ? mode(call, at) : undefined)
}

/** Answers requests beyond so many within a second, whole. */
export function beyondRate(perSecond: number, mode: Mode): Mode {
  let taken: number[] = []
  return (call, at) => {
    if (at.index > 0) return undefined
    taken = taken.filter((ms) => performance.now() - ms < 1000)
    if (taken.length >= perSecond) return mode(call, at)
    taken.push(performance.now())
    return undefined
  }
}

/** @param limit how many calls may come together; 0: no arrays at all */
export const batches =
  (limit: number, as: 'one error' | 'each an error' | number, words: string): Mode =>
  (_call, { batch }) => {
    if (batch <= limit) return undefined
    if (as === 'each an error') return { error: words, code: -32005 }
    return refusal(as === 'one error' ? 200 : as, words)
  }

/** Each transaction needs more gas than its execution, as where data is paid for in gas; estimates say so. */
export const gas =
  (extra: number, words: (has: bigint, needs: bigint) => string): Mode =>
  async (call, { ask }) => {
    if (call.method === 'eth_estimateGas')
      return {
        change: (honest) => (honest.error ? honest : { result: toHex(numberOf(honest.result) + extra) }),
      }
    if (!isSend(call)) return undefined
    const { gas: has = 0n, to, data, value = 0n } = parseTransaction(rawOf(call))
    const from = senderOf(rawOf(call))
    const params = { from, data, value: toHex(value), ...(to ? { to } : {}) }
    // What depends on transactions that the node does not have yet is measured by the least that any takes.
    const used = await ask('eth_estimateGas', [params, 'pending']).then(numberOf, () => 21_000)
    const needs = BigInt(used + extra)
    return has < needs ? { error: words(has, needs) } : undefined
  }

/** @param range how many blocks are searched at once; 0: none ever */
export const logs =
  (range: number, { code, words }: { code: number; words(range: number): string }): Mode =>
  async ({ method, params }, { ask }) => {
    if (method !== 'eth_getLogs') return undefined
    const [{ fromBlock, toBlock }] = z
      .tuple([
        z.looseObject({ fromBlock: z.string().default('latest'), toBlock: z.string().default('latest') }),
      ])
      .parse(params)
    const head = numberOf(await ask('eth_blockNumber'))
    const at = (block: string) => (block.startsWith('0x') ? Number(block) : head)
    return at(toBlock) - at(fromBlock) + 1 > range ? { error: words(range), code } : undefined
  }

/** Smaller tips are refused, whatever the node suggests. */
export const minimumTip =
  (needed: bigint, words: (fees: Fees) => string): Mode =>
  (call) => {
    if (!isSend(call)) return undefined
    const { maxPriorityFeePerGas, gasPrice = 0n } = parseTransaction(rawOf(call))
    const tip = maxPriorityFeePerGas ?? gasPrice
    return tip < needed ? { error: words({ tip, needed }) } : undefined
  }

export const suggestedTip = (wei: bigint): Mode =>
  only(['eth_maxPriorityFeePerGas'], () => ({ result: toHex(wei) }))

/** What others paid. Without it, anvil's history is that of blocks in which nobody paid anything. */
export const tipsOfOthers = (wei: bigint): Mode =>
  only(['eth_feeHistory'], () => ({
    change: ({ result, ...rest }) => {
      const history = z.looseObject({ reward: z.array(z.array(z.string())).optional() }).parse(result)
      const reward = history.reward?.map((block) => block.map(() => toHex(wei)))
      return { ...rest, result: { ...history, ...(reward ? { reward } : {}) } }
    },
  }))

/**
 * Takes no transaction but the next one.
 * @param of what counts as used: with `pending`, what the pool has, too
 * @param beyond how many after the next one are taken all the same
 */
export const strictNonces =
  (words: (nonce: number, next: number) => string, of: 'latest' | 'pending', beyond = 0): Mode =>
  async (call, { ask }) => {
    if (!isSend(call)) return undefined
    const { nonce = 0 } = parseTransaction(rawOf(call))
    const from = senderOf(rawOf(call))
    const next = numberOf(await ask('eth_getTransactionCount', [from, of]))
    return nonce > next + beyond ? { error: words(nonce, next) } : undefined
  }

/** Has room for some transactions of an account. */
export const roomFor = (count: number, words: string): Mode => strictNonces(() => words, 'latest', count - 1)

/** The node has each transaction the first time and says that it failed; then it has it already, in many words. */
export function hasItAlready(wordings: readonly string[]): Mode {
  const seen = new Map<Hex, string>()
  return (call) => {
    if (!isSend(call)) return undefined
    const raw = rawOf(call)
    const words = seen.get(raw)
    const next = wordings[seen.size % wordings.length] ?? ''
    return {
      change: (honest) => {
        if (words === undefined && !honest.error) {
          seen.set(raw, next)
          return { error: { code: -32000, message: 'request timed out' } }
        }
        const isKnown = words !== undefined && /already known/.test(honest.error?.message ?? '')
        return isKnown ? { error: { code: -32000, message: words } } : honest
      },
    }
  }
}

/** @param retryAfter seconds, or a date as HTTP writes it */
export const tooManyRequests =
  (retryAfter: () => string): Mode =>
  () => ({ ...Object(refusal(429, 'Too Many Requests')), headers: { 'retry-after': retryAfter() } })

/** Each call counts, also those of a batch that is then refused. */
export function callsPerSecond(count: number): Mode {
  let answered: number[] = []
  return () => {
    const now = performance.now()
    answered = answered.filter((at) => now - at < 1000)
    if (answered.length >= count)
      return { ...Object(refusal(429, 'Too Many Requests')), headers: { 'retry-after': '1' } }
    answered.push(now)
    return undefined
  }
}

/** A chain without EIP-1559. */
export const legacy =
  (words: string): Mode =>
  (call, at) => {
    if (call.method === 'eth_maxPriorityFeePerGas' || call.method === 'eth_feeHistory')
      return notThere(call, at)
    if (isSend(call)) return parseTransaction(rawOf(call)).type === 'legacy' ? undefined : { error: words }
    if (!call.method.startsWith('eth_getBlockBy')) return undefined
    const change = ({ result, ...rest }: Answer): Answer => {
      if (result === null || typeof result !== 'object') return { ...rest, result }
      const { baseFeePerGas: _, ...block } = z.looseObject({ baseFeePerGas: z.unknown() }).parse(result)
      return { ...rest, result: block }
    }
    return { change }
  }

/** Answers as if it had taken each transaction. */
export const swallow: Mode = (call) => (isSend(call) ? { result: keccak256(rawOf(call)) } : undefined)

export const refuseSends = (words: string): Mode => only(['eth_sendRawTransaction'], () => ({ error: words }))
