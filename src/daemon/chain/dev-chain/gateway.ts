import { isHex } from 'viem'
import type { RpcCall, RpcOutcome } from '../rpc-connection.ts'
import { saidByNode } from '../rpc-transport.ts'
import { callsOfOneTurn } from '../rpc-turns.ts'
import type { Journal } from './journal.ts'
import type { RpcMode } from './rpc-guard.ts'
import { isRead } from './rpc-methods.ts'
import type { RunningChain } from './running-chain.ts'

/** A call as viem's transports make it. */
export interface Request {
  method: string
  params?: unknown
}

export interface GatewaySettings {
  mode: RpcMode
  journal: Journal
  /** The chain was told to change. */
  changed(): void
}

type Turns = (call: RpcCall) => Promise<RpcOutcome>

const mostTogether = 100
const noAnswer: RpcOutcome = { error: { code: -32603, message: 'no answer' } }
const isSwitch = ({ method }: RpcCall): boolean => /^(evm_setAutomine|anvil_setAutoMine)$/.test(method)

/** The way in to a chain for all calls: writes down what is signed, and has blocks made for it. */
export class Gateway {
  readonly #settings: GatewaySettings
  readonly #turns = new WeakMap<RunningChain, Turns>()

  constructor(settings: GatewaySettings) {
    this.#settings = settings
  }

  async perform(chain: RunningChain, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    const outcomes = await chain.connection.batch(calls)
    // Once it is accepted, and before anyone learns so: what was refused must not succeed after a restart.
    this.#settings.journal.append(
      calls.flatMap(({ method, params }, index) => {
        const outcome = outcomes[index] ?? noAnswer
        const [raw] = params ?? []
        return method === 'eth_sendRawTransaction' && 'result' in outcome && isHex(raw) ? [raw] : []
      }),
    )
    if (calls.some(({ method }) => !isRead(method))) {
      this.#settings.changed()
      chain.blocks.poke()
    }
    return outcomes
  }

  /** For calls that came over the published RPC. */
  async performForOthers(chain: RunningChain, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    // To a reader the chain goes on while nobody looks.
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

  /** One call. @throws RpcRequestError as viem's own transports do */
  async request(chain: RunningChain, { method, params }: Request): Promise<unknown> {
    const call = { method, params: Array.isArray(params) ? params : [] }
    const outcome = await this.#turnsOf(chain)(call)
    if ('error' in outcome) throw saidByNode(call, outcome.error, chain.process.url)
    return outcome.result
  }

  #turnsOf(chain: RunningChain): Turns {
    const known = this.#turns.get(chain)
    if (known) return known
    const turns = callsOfOneTurn((calls) => this.perform(chain, calls), mostTogether)
    this.#turns.set(chain, turns)
    return turns
  }
}
