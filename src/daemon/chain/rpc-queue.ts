import type { Schedule } from '../../values/background-loop.ts'
import { plainText } from '../outbound/foreign-text.ts'
import type { Clock } from './relayer/sender.ts'
import { assertShape } from './rpc-answers.ts'
import { MalformedAnswer, type RpcCall, type RpcConnection, type RpcOutcome } from './rpc-connection.ts'

export interface EndpointSettings {
  /** Host and port: paths, queries, and users of RPC URLs are secrets. */
  name: string
  connection: RpcConnection
  clock: Clock
  /** undefined: any chain. */
  chainId: number | undefined
  /** How long calls wait for a rate-limited node, if the chain has no other URL. */
  patienceMs: number
  schedule: Schedule
}

/** A call in the queue of an RPC URL. */
export interface QueuedCall {
  readonly call: RpcCall
  /** Monotonic. */
  readonly since: number
  resolve(outcome: RpcOutcome): void
  reject(error: Error): void
}

export type Answer = RpcOutcome | { failure: Error }

/** A malformed answer carries no information. */
export function settleWith({ call, resolve, reject }: QueuedCall, outcome: RpcOutcome): void {
  try {
    if ('result' in outcome) assertShape(call, outcome.result)
    resolve(outcome)
  } catch (error) {
    reject(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Settles the calls of a batch at these indexes. */
export function settleAll(
  waiting: readonly QueuedCall[],
  outcomes: readonly RpcOutcome[],
  isChosen: (index: number) => boolean,
): void {
  for (const [index, outcome] of outcomes.entries()) {
    const one = waiting[index]
    if (one && isChosen(index)) settleWith(one, outcome)
  }
}

/** Checks that an RPC URL serves the expected chain. */
export class ChainCheck {
  readonly #name: string
  readonly #chainId: number | undefined
  isDone: boolean
  /** The chain id that the URL answered with. */
  otherChain: number | undefined

  /** @param chainId undefined: any chain */
  constructor(name: string, chainId: number | undefined) {
    this.#name = name
    this.#chainId = chainId
    this.isDone = chainId === undefined
  }

  /** Another node may answer there next time. */
  reset(): void {
    this.isDone = this.#chainId === undefined
  }

  /** @param outcome of eth_chainId @returns why nothing can be sent there */
  judge(outcome: RpcOutcome): Error | undefined {
    if (this.#chainId === undefined) return undefined
    const actual = 'result' in outcome ? Number(outcome.result) : Number.NaN
    if (Number.isSafeInteger(actual)) {
      this.isDone = actual === this.#chainId
      this.otherChain = this.isDone ? undefined : actual
      return this.isDone ? undefined : new Error(`${this.#name} answers for chain ${actual}`)
    }
    const words = 'error' in outcome ? plainText(outcome.error.message) : 'its answer is malformed'
    return new MalformedAnswer(`${this.#name} was asked for its chain (eth_chainId): ${words}`)
  }
}
