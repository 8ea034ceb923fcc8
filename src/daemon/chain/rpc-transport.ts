import { custom, type Transport } from 'viem'
import { type Schedule, systemSchedule } from '../../values/background-loop.ts'
import { lacksBlock } from './node-answer.ts'
import { answerOf } from './relayer/send-outcome.ts'
import type { Clock } from './relayer/sender.ts'
import { nodeError, type RpcCall, RpcConnection, type RpcOutcome, withoutUrls } from './rpc-connection.ts'
import { RpcEndpoint } from './rpc-endpoint.ts'
import { Heads } from './rpc-heads.ts'
import { rpcOverHttp } from './rpc-http.ts'
import { isRevert } from './rpc-limits.ts'

/**
 * Time limit for a whole exchange. Together with the relayer's longest pause it stays below ten seconds, so that a
 * chain continues this soon after its node recovers.
 */
export const nodeTimeoutMs = 6000
/** A hundred receipts, or a full block. */
const maxBytes = 8 * 1024 * 1024
/** The size of those receipts with the logs of a hundred events each. */
const maxMembers = 100_000
/** A URL earlier in the list is used again once it has been well for this long. */
const wellForMs = 60_000
/** How long calls wait for a chain's only URL while it is rate-limited. */
const defaultPatienceMs = 1000
/** Other URLs may still take a transaction that the first one refused. */
const secondOpinionMs = 1000

export interface EndpointsSettings {
  chainId?: number
  timeoutMs?: number
  clock?: Clock
  schedule?: Schedule
}

export interface EndpointHealth {
  /** Host and port. */
  url: string
  isWell: boolean
  head: number | undefined
  /** Blocks behind the best of the chain's URLs. */
  behind: number | undefined
  /** The largest batch that it accepts; undefined: the default. */
  batch: number | undefined
  /** In milliseconds since 1970. */
  limitedUntil: number | undefined
  lastError: string | undefined
}

const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/**
 * The RPC URLs of a chain. One working URL answers all reads, so that the answers are consistent; the next one takes
 * over if it fails. Transactions are sent to all of them.
 */
export class RpcEndpoints {
  readonly all: readonly RpcEndpoint[]
  readonly #schedule: Schedule
  readonly #clock: Clock
  readonly #heads: Heads
  #current: RpcEndpoint | undefined

  constructor(urls: readonly string[], settings: EndpointsSettings = {}) {
    const { chainId, timeoutMs = nodeTimeoutMs, clock = systemClock, schedule = systemSchedule } = settings
    const names = namesOf(urls)
    // Another URL answers sooner.
    const patienceMs = urls.length > 1 ? 0 : defaultPatienceMs
    this.#clock = clock
    this.#schedule = schedule
    this.all = urls.map((url, index) => {
      const connection = new RpcConnection(url, rpcOverHttp(url), { timeoutMs, maxBytes, maxMembers })
      const name = names[index] ?? url
      return new RpcEndpoint({ name, connection, clock, chainId, patienceMs, schedule })
    })
    this.#heads = new Heads(this.all, clock)
  }

  /** For viem. None of its calls is retried: the caller decides what a missing answer means. */
  get transport(): Transport {
    const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
      const call = { method, params: Array.isArray(params) ? params : [] }
      const { outcome, endpoint } = await this.ask(call)
      if ('error' in outcome) throw nodeError(call, outcome.error, endpoint.url)
      return outcome.result
    }
    return custom({ request }, { key: 'node', name: 'JSON-RPC node', retryCount: 0 })
  }

  health(): EndpointHealth[] {
    return this.all.map((endpoint) => ({
      url: endpoint.name,
      isWell: this.#isWell(endpoint),
      ...this.#heads.of(endpoint),
      batch: endpoint.batches.learnt,
      limitedUntil: endpoint.limitedUntil,
      lastError: endpoint.trouble && withoutUrls(endpoint.trouble.message),
    }))
  }

  /** Asks all URLs for their latest block. */
  checkHeads(): Promise<void> {
    return this.#heads.check()
  }

  async ask(call: RpcCall): Promise<EndpointOutcome> {
    const [only, ...others] = this.all
    if (only !== undefined && others.length === 0) {
      const outcome = await only.ask(call)
      this.#heads.learn(only, call, outcome)
      return { outcome, endpoint: only }
    }
    this.#heads.checkInBackground()
    if (call.method === 'eth_sendRawTransaction') return this.#sendToAll(call)
    let kept: EndpointOutcome | undefined
    let failure: unknown
    for (const endpoint of this.#inOrder(call)) {
      // There is an answer already, so a failing URL is not worth the wait.
      if (kept && kept.endpoint.state !== 'other-chain' && endpoint.state === 'failing') break
      try {
        const outcome = await endpoint.ask(call)
        if (this.#isUseful(call, outcome, endpoint)) return { outcome, endpoint }
        kept ??= { outcome, endpoint }
      } catch (error) {
        failure ??= error
      }
    }
    // As long as one of the URLs may be right, the chain counts as unreachable, not as a wrong chain.
    if (kept && (failure === undefined || kept.endpoint.state !== 'other-chain')) return kept
    throw failure
  }

  /** Best first, plus a failed one in case it is back. URLs of another chain are used only if there is no other. */
  #inOrder({ method }: RpcCall): readonly RpcEndpoint[] {
    const ofChain = this.all.filter(({ state }) => state !== 'other-chain')
    const asked = ofChain.filter(({ state }) => state !== 'limited')
    const ok = asked.filter(({ state }) => state === 'ok')
    const well = ok.filter((endpoint) => this.#isWell(endpoint))
    const now = this.#clock.monotonic()
    const isPreferred = (endpoint: RpcEndpoint) =>
      endpoint === this.#current || now - endpoint.wellSince >= wellForMs
    this.#current = well.find(isPreferred) ?? well[0]
    const lagging = ok.filter((endpoint) => !well.includes(endpoint))
    const failing = asked.filter(({ state }) => state === 'failing')
    const [longest] = failing.sort((one, other) => one.failedAt - other.failedAt)
    const best = this.#current === undefined ? [] : [this.#current]
    const usable = [...best, ...well.filter((one) => one !== this.#current), ...lagging]
    const lacks = (endpoint: RpcEndpoint) => Number(endpoint.missing.has(method))
    const inOrder = usable.sort((one, other) => lacks(one) - lacks(other))
    if (longest) inOrder.push(longest)
    if (inOrder.length > 0) return inOrder
    return (ofChain.length > 0 ? ofChain : this.all).slice(0, 1)
  }

  /** True if no other URL needs to be asked. */
  #isUseful(call: RpcCall, outcome: RpcOutcome, endpoint: RpcEndpoint): boolean {
    if (endpoint.state === 'other-chain') return false
    this.#heads.learn(endpoint, call, outcome)
    if (!('error' in outcome)) return !(outcome.result === null && this.#heads.isKnown(call))
    const { code, message } = outcome.error
    if (isRevert(outcome.error)) return true
    if (code === -32601 || code === -32004 || lacksMethod.test(message)) {
      endpoint.missing.add(call.method)
      return false
    }
    return !(lacksBlock.test(message) && this.#heads.isKnown(call))
  }

  #isWell(endpoint: RpcEndpoint): boolean {
    return endpoint.state === 'ok' && !this.#heads.isLagging(endpoint)
  }

  /** One acceptance is enough; slow URLs are not waited for. */
  #sendToAll(call: RpcCall): Promise<EndpointOutcome> {
    const ok = this.all.filter(({ state }) => state === 'ok')
    const [first] = this.#inOrder(call)
    const asked = ok.length === 0 && first ? [first] : ok
    return new Promise((resolve, reject) => {
      const refusals: EndpointOutcome[] = []
      let failure: unknown
      let waiting = asked.length
      let isTimed = false
      const end = () => {
        const [best] = refusals.sort((one, other) => rankOf(call, one) - rankOf(call, other))
        if (best) resolve(best)
        else reject(failure)
      }
      const answered = (answer: EndpointOutcome | undefined) => {
        waiting -= 1
        if (answer && rankOf(call, answer) === 0) return resolve(answer)
        if (answer) refusals.push(answer)
        if (waiting === 0) return end()
        if (refusals.length === 0 || isTimed) return
        isTimed = true
        this.#schedule(end, secondOpinionMs)
      }
      for (const endpoint of asked)
        endpoint.ask(call).then(
          (outcome) => answered({ outcome, endpoint }),
          (error: unknown) => {
            failure ??= error
            answered(undefined)
          },
        )
    })
  }
}

interface EndpointOutcome {
  outcome: RpcOutcome
  endpoint: RpcEndpoint
}

const lacksMethod = /method \S* ?.*(not (found|supported|available)|does not exist)|unsupported method/i

/** The most informative answer first: if one node has the transaction, the others do not matter. */
function rankOf(call: RpcCall, { outcome, endpoint }: EndpointOutcome): number {
  if (!('error' in outcome)) return 0
  const ranks = ['taken', 'nonce-used']
  const { outcome: meaning } = answerOf(nodeError(call, outcome.error, endpoint.url))
  if (['refused', 'nonce-too-high', 'unknown'].includes(meaning)) return ranks.length + 1
  return ranks.includes(meaning) ? ranks.indexOf(meaning) : ranks.length
}

/** Host and port of each URL; numbered if several have the same. */
function namesOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => {
    const { hostname, port, protocol } = new URL(url)
    return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  })
  return hosts.map((host, index) => {
    const earlier = hosts.slice(0, index).filter((other) => other === host).length
    return earlier === 0 ? host : `${host}#${earlier + 1}`
  })
}
