import { type Hex, isHex } from 'viem'
import { isOutOfSpace } from '../../store/data-dir/disk.ts'
import { nodeError, type RpcCall, type RpcOutcome } from '../rpc-connection.ts'
import type { Entry, Journal } from './journal.ts'
import { isRead, type RpcMode } from './rpc-guard.ts'
import type { RunningChain } from './running-chain.ts'

export interface Request {
  method: string
  params?: unknown
}

interface GatewaySettings {
  mode: RpcMode
  journal: Journal
  changed(): void
  writeFailed(error: unknown): void
}

type BatchedCall = (call: RpcCall) => Promise<RpcOutcome>

const maxBatch = 100
const noAnswer: RpcOutcome = { error: { code: -32603, message: 'no answer' } }
const notWritten = (error: unknown): RpcOutcome => ({
  error: {
    code: -32603,
    message: `${isOutOfSpace(error) ? 'The disk is full' : 'The disk cannot be written'}: the transaction was not accepted, and never will be. Send it again later.`,
  },
})
const isSwitch = ({ method }: RpcCall): boolean => /^(evm_setAutomine|anvil_setAutoMine)$/.test(method)

function signedIn(call: RpcCall | undefined): Hex | undefined {
  const [raw] = call?.method === 'eth_sendRawTransaction' ? (call.params ?? []) : []
  return isHex(raw) ? raw : undefined
}

/** The entry point for all calls to a chain: records signed transactions, and has blocks made for them. */
export class Gateway {
  readonly #settings: GatewaySettings
  readonly #batchers = new WeakMap<RunningChain, BatchedCall>()

  constructor(settings: GatewaySettings) {
    this.#settings = settings
  }

  async perform(chain: RunningChain, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    const sent = calls.filter((call) => signedIn(call) !== undefined)
    if (sent.length === 0) return this.#pass(chain, calls)
    const { journal } = this.#settings
    let entries: Entry[]
    try {
      // Recorded before the chain has it: an unrecorded transaction must not take effect.
      entries = journal.append(sent.flatMap((call) => signedIn(call) ?? []))
    } catch (error) {
      this.#settings.writeFailed(error)
      const rest = (
        await this.#pass(
          chain,
          calls.filter((call) => signedIn(call) === undefined),
        )
      ).values()
      return calls.map((call) =>
        signedIn(call) === undefined ? (rest.next().value ?? noAnswer) : notWritten(error),
      )
    }
    let outcomes: RpcOutcome[] | undefined
    try {
      outcomes = await this.#pass(chain, calls)
      return outcomes
    } finally {
      // Before the caller learns the outcome: a refused transaction must not succeed after a restart. Without
      // an answer it may have taken effect, so it stays.
      const of = outcomes?.filter((_, index) => signedIn(calls[index]) !== undefined)
      for (const [index, entry] of entries.entries())
        journal.settle(entry, of === undefined || 'result' in (of[index] ?? noAnswer))
    }
  }

  async #pass(chain: RunningChain, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    const outcomes = await chain.connection.batch(calls)
    if (calls.some(({ method }) => !isRead(method))) {
      this.#settings.changed()
      chain.blocks.poke()
    }
    return outcomes
  }

  async performForOthers(chain: RunningChain, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    // For readers, the chain continues during idle time.
    if (this.#settings.mode === 'guarded') {
      await chain.blocks.catchUp()
      return this.perform(chain, calls)
    }
    // anvil's own automine makes a block for each transaction, and hundreds of empty ones.
    for (const { params } of calls.filter(isSwitch)) chain.blocks.hold(params?.[0] === false)
    const passed = calls.filter((call) => !isSwitch(call))
    const outcomes = (await this.perform(chain, passed)).values()
    return calls.map((call) => (isSwitch(call) ? { result: null } : (outcomes.next().value ?? noAnswer)))
  }

  /** @throws RpcRequestError like viem's own transports */
  async request(chain: RunningChain, { method, params }: Request): Promise<unknown> {
    const call = { method, params: Array.isArray(params) ? params : [] }
    const outcome = await this.#batcherOf(chain)(call)
    if ('error' in outcome) throw nodeError(call, outcome.error, chain.process.url)
    return outcome.result
  }

  #batcherOf(chain: RunningChain): BatchedCall {
    const known = this.#batchers.get(chain)
    if (known) return known
    const batcher = batchPerTurn((calls) => this.perform(chain, calls))
    this.#batchers.set(chain, batcher)
    return batcher
  }
}

interface Waiting {
  call: RpcCall
  resolve(outcome: RpcOutcome): void
  reject(error: unknown): void
}

/** Batches the calls of one turn of the event loop, because a round trip costs more than a call. */
function batchPerTurn(
  perform: (calls: readonly RpcCall[]) => Promise<readonly RpcOutcome[]>,
): (call: RpcCall) => Promise<RpcOutcome> {
  let waiting: Waiting[] = []
  const endTurn = () => {
    const turn = waiting
    waiting = []
    for (let at = 0; at < turn.length; at += maxBatch) {
      const together = turn.slice(at, at + maxBatch)
      perform(together.map(({ call }) => call)).then(
        (outcomes) => {
          for (const [index, { resolve }] of together.entries()) resolve(outcomes[index] ?? noAnswer)
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
