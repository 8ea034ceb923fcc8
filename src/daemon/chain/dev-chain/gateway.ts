import { setImmediate as endOfTurn } from 'node:timers/promises'
import { nodeError, type RpcCall, type RpcOutcome } from '../rpc-connection.ts'
import { isRead, type RpcMode } from './rpc-guard.ts'
import type { RunningChain } from './running-chain.ts'

export interface Request {
  method: string
  params?: unknown
}

interface GatewaySettings {
  mode: RpcMode
  /** Called after calls that may have changed the chain. */
  changed(): void
}

type BatchedCall = (call: RpcCall) => Promise<RpcOutcome>

const maxBatch = 100
const noAnswer: RpcOutcome = { error: { code: -32603, message: 'no answer' } }
const isSwitch = ({ method }: RpcCall): boolean => /^(evm_setAutomine|anvil_setAutoMine)$/.test(method)

/** The entry point for all calls to a chain: has blocks made for transactions, and changes saved. */
export class Gateway {
  readonly #settings: GatewaySettings
  readonly #batchers = new WeakMap<RunningChain, BatchedCall>()

  constructor(settings: GatewaySettings) {
    this.#settings = settings
  }

  async #perform(chain: RunningChain, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    const outcomes = await chain.connection.batch(calls)
    if (calls.some(({ method }) => !isRead(method))) {
      this.#settings.changed()
      chain.blocks.poke()
    }
    return outcomes
  }

  async performForOthers(chain: RunningChain, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    // Readers should see the chain advance during idle time.
    if (this.#settings.mode === 'guarded') {
      await chain.blocks.catchUp()
      return this.#perform(chain, calls)
    }
    // anvil's own automine makes a block for each transaction, and hundreds of empty ones.
    for (const { params } of calls.filter(isSwitch)) chain.blocks.setHeld(params?.[0] === false)
    const passed = calls.filter((call) => !isSwitch(call))
    const outcomes = (await this.#perform(chain, passed)).values()
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
    const batcher = batchPerTurn((calls) => this.#perform(chain, calls))
    this.#batchers.set(chain, batcher)
    return batcher
  }
}

/** Batches the calls of one turn of the event loop, because a round trip costs more than a call. */
function batchPerTurn(perform: (calls: readonly RpcCall[]) => Promise<readonly RpcOutcome[]>): BatchedCall {
  let batch: { calls: RpcCall[]; outcomes: Promise<readonly RpcOutcome[]> } | undefined
  return async (call) => {
    if (batch === undefined || batch.calls.length === maxBatch) {
      const calls: RpcCall[] = []
      const outcomes = endOfTurn().then(() => {
        batch = undefined
        return perform(calls)
      })
      batch = { calls, outcomes }
    }
    const { calls, outcomes } = batch
    const index = calls.push(call) - 1
    return (await outcomes)[index] ?? noAnswer
  }
}
