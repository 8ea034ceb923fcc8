import {
  type Address,
  BaseError,
  type CcipRequestParameters,
  type Chain,
  type Client,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createClient,
  custom,
  getAddress,
  type Hex,
  isAddress,
  isHex,
} from 'viem'
import { getCode, getEnsAddress, getEnsName } from 'viem/actions'
import { berachain, holesky, linea, lineaSepolia, mainnet, sepolia, story } from 'viem/chains'
import { OutboundFailed } from '../../outbound/errors.ts'
import { plainText } from '../../outbound/foreign-text.ts'
import type { SendRequest } from '../../outbound/outbound.ts'
import type { ChainClient } from '../chain-client.ts'
import { devChainId } from '../dev-chain/dev-keys.ts'
import { NameChainMissing, NameUnavailable } from './recipient.ts'

// A name's owner controls its resolver, which may redirect to gateways again and again.
const maxSteps = 24
const gatewayMs = 10_000

export const tooLong = 'it takes too many steps or too long. Give the address (0x…)'

/** The universal resolver's errors that mean "no address". All others are failures. */
const none = ['ResolverNotFound', 'ResolverNotContract', 'ResolverError', 'UnsupportedResolverProfile']

export interface Limits {
  now(): number
  timeoutMs: number
}

export class NameLookup {
  readonly #name: string
  readonly #home: NameService
  readonly #client: Client
  readonly #limits: Limits
  readonly #until: number
  #steps = 0
  #exhausted = false
  #gateways: string | undefined

  constructor(name: string, home: NameService, fetchGateway: SendRequest, limits: Limits) {
    this.#name = name
    this.#home = home
    this.#limits = limits
    this.#until = limits.now() + limits.timeoutMs
    const timeoutMs = Math.min(limits.timeoutMs, gatewayMs)
    const ccip = guardedCcipRequest((request) => this.#step(() => fetchGateway({ ...request, timeoutMs })))
    // A separate client, because others would call gateways directly.
    this.#client = createClient({
      transport: custom(
        { request: (call) => this.#step(() => home.client.request(call)) },
        { key: 'names', retryCount: 0 },
      ),
      ccipRead: { request: (parameters) => this.#noted(ccip(parameters), parameters) },
    })
  }

  /**
   * @param coinType ENSIP-11; absent: Ethereum's.
   * @returns undefined if the name has no such address
   * @throws NameUnavailable
   */
  address(coinType?: bigint): Promise<Address | undefined> {
    return this.#asked(async () => {
      const { universalResolver: universalResolverAddress } = this.#home
      const question = { name: this.#name, coinType, universalResolverAddress, strict: true }
      const found = await getEnsAddress(this.#client, question).catch((error: unknown) => {
        if (none.includes(revertIn(error) ?? '')) return null
        throw error
      })
      // The resolver also answers "none" if its gateways failed.
      if (found === null && this.#gateways !== undefined) throw new Error('gateways failed')
      return found !== null && isAddress(found) ? getAddress(found) : undefined
    })
  }

  /** Reverse look-up. The name may still point to another address. @throws NameUnavailable */
  nameOf(address: Address): Promise<string | undefined> {
    return this.#asked(async () => {
      const { universalResolver: universalResolverAddress } = this.#home
      return (await getEnsName(this.#client, { address, universalResolverAddress })) ?? undefined
    })
  }

  /** True for a contract on the name's chain; an account that delegates (EIP-7702) is not one. */
  isContract(address: Address): Promise<boolean> {
    return this.#asked(async () => {
      const code = await getCode(this.#client, { address })
      return code !== undefined && !code.startsWith('0xef0100')
    })
  }

  async #step<T>(step: () => Promise<T>): Promise<T> {
    this.#steps++
    this.#exhausted ||= this.#steps > maxSteps || this.#limits.now() > this.#until
    if (this.#exhausted) throw new Error('too many questions')
    return step()
  }

  /** viem turns gateway failures into answers, so they are recorded here. */
  async #noted<T>(asked: Promise<T>, { urls }: CcipRequestParameters): Promise<T> {
    try {
      return await asked
    } catch (error) {
      this.#gateways ??= error instanceof Error ? plainText(error.message) : plainText(urls.join(', '))
      throw error
    }
  }

  async #asked<T>(job: () => Promise<T>): Promise<T> {
    try {
      return await job()
    } catch (error) {
      const message = `${this.#name} cannot be looked up: ${this.#why(error)}`
      // The gateways' own errors describe our network: strangers may ask, so these stay in the log.
      throw new NameUnavailable(message, { cause: this.#gateways && new Error(this.#gateways) })
    }
  }

  /** Never viem's own message, because it contains the node's URL and its API key. */
  #why(error: unknown): string {
    const { chainId, universalResolver } = this.#home
    if (this.#exhausted) return tooLong
    if (this.#gateways !== undefined) return 'it is stored off-chain, and its gateways did not answer'
    if (has(error, ContractFunctionZeroDataError))
      return `chain ${chainId} has no name service at ${universalResolver}`
    if (has(error, ContractFunctionRevertedError)) return `the name service of chain ${chainId} failed`
    const deepest: unknown = error instanceof BaseError ? error.walk() : error
    return `chain ${chainId} gave no usable answer (${kindOf(deepest)}). Try again later, or give the address (0x…)`
  }
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error instanceof OutboundFailed) return error.kind
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

type ErrorClass = typeof ContractFunctionZeroDataError | typeof ContractFunctionRevertedError

const has = (error: unknown, kind: ErrorClass): boolean =>
  error instanceof BaseError && error.walk((cause) => cause instanceof kind) !== null

function revertIn(error: unknown): string | undefined {
  const revert =
    error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null
  return revert instanceof ContractFunctionRevertedError ? revert.data?.errorName : undefined
}

export type ClientFor = (chainId: number) => ChainClient | undefined

export interface NameService {
  chainId: number
  client: ChainClient
  universalResolver: Address
}

/** Chains whose name service viem knows; a client may lack its chain's definition. */
const known: readonly Chain[] = [mainnet, sepolia, holesky, linea, lineaSepolia, berachain, story]

const definitionOf = (chainId: number, client: ChainClient | undefined): Chain | undefined =>
  client?.chain?.contracts?.ensUniversalResolver ? client.chain : known.find(({ id }) => id === chainId)

/** Finds the name service for a chain: its own one, or ENS. @throws NameChainMissing, NameUnavailable */
export function nameServiceFor(
  name: string,
  chainId: number,
  ensChainId: number,
  clientFor: ClientFor,
): NameService {
  const own = definitionOf(chainId, clientFor(chainId))
  const isOwn = own?.ensTlds?.some((ending) => name.endsWith(ending)) ?? own !== undefined
  // ENS also has names that do not end in .eth, whatever its definition says. The embedded chain's names are
  // separate and must never be mistaken for real ENS names.
  const homeId = isOwn || chainId === ensChainId || chainId === devChainId ? chainId : ensChainId
  const client = clientFor(homeId)
  if (client === undefined) throw new NameChainMissing(name, homeId)
  const universalResolver = definitionOf(homeId, client)?.contracts?.ensUniversalResolver?.address
  if (universalResolver === undefined)
    throw new NameUnavailable(`Chain ${homeId} has no name service for ${name}: give the address (0x…)`)
  return { chainId: homeId, client, universalResolver }
}

/** The message has the reason of each gateway. */
class GatewaysFailed extends Error {
  override readonly name = 'GatewaysFailed'
}

// A contract can name any number of gateways.
const maxGateways = 8

/**
 * Sends an ERC-3668 request to gateways in their order until one answers: replaces viem's `ccipRead.request`,
 * which would call `fetch`.
 * @throws GatewaysFailed
 */
export function guardedCcipRequest(fetchGateway: SendRequest) {
  return async ({ data, sender, urls }: CcipRequestParameters): Promise<Hex> => {
    const reasons: string[] = []
    for (const template of urls.slice(0, maxGateways)) {
      try {
        return await ask(fetchGateway, template, { data, sender: sender.toLowerCase() })
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : 'unknown')
      }
    }
    throw new GatewaysFailed(reasons.join('; ') || 'no gateway is named')
  }
}

async function ask(
  fetchGateway: SendRequest,
  template: string,
  question: { data: Hex; sender: string },
): Promise<Hex> {
  const url = template.replaceAll('{sender}', question.sender).replaceAll('{data}', question.data)
  const answer = await fetchGateway(
    template.includes('{data}')
      ? { url, method: 'GET', headers: {} }
      : {
          url,
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(question),
        },
  )
  const { origin } = new URL(url)
  if (answer.status < 200 || answer.status > 299) throw new Error(`${origin} answers ${answer.status}`)
  const text = answer.body.toString()
  const data = String(answer.headers['content-type'] ?? '').startsWith('application/json')
    ? dataIn(text)
    : text
  if (!isHex(data)) throw new Error(`${origin} answers something that is not hex data`)
  return data
}

function dataIn(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : undefined
  } catch {
    return undefined
  }
}
