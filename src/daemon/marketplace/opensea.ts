import { retryAfterMs } from '../outbound/foreign-text.ts'
import type { OutboundAnswer, OutboundRequest } from '../outbound/outbound.ts'

type Request = (request: OutboundRequest) => Promise<Pick<OutboundAnswer, 'status' | 'headers'>>

export interface Token {
  chainId: number
  contract: string
  /** In decimal. */
  tokenId: string
}

export type RefreshResult =
  | { kind: 'done' }
  /** `scope` is `all` if the marketplace wants no requests at all for now. */
  | { kind: 'retry'; afterMs: number; scope: 'token' | 'all'; reason: string }
  /** Retrying does not help. */
  | { kind: 'refused'; reason: string }

export interface Marketplace {
  refresh(token: Token): Promise<RefreshResult>
}

export interface OpenSeaSettings {
  request: Request
  apiKey: string
  baseUrl?: string
  slugs?: Readonly<Record<number, string>>
  clock?: { now(): number }
}

const minute = 60_000
/** A longer Retry-After is cut to a day. */
const retryBounds = { min: 0, max: 24 * 60 * minute }

export function createOpenSea(settings: OpenSeaSettings): Marketplace {
  const { request, apiKey, clock = { now: Date.now } } = settings
  const base = (settings.baseUrl ?? 'https://api.opensea.io').replace(/\/+$/, '')
  const slugs = { ...openSeaSlugs, ...settings.slugs }

  return {
    async refresh({ chainId, contract, tokenId }) {
      const slug = slugs[chainId]
      if (slug === undefined) return { kind: 'refused', reason: `no marketplace for chain ${chainId}` }
      const path = ['chain', slug, 'contract', contract, 'nfts', tokenId, 'refresh'].map(encodeURIComponent)
      const url = `${base}/api/v2/${path.join('/')}`
      try {
        const { status, headers } = await request({
          url,
          method: 'POST',
          headers: { 'x-api-key': apiKey, accept: 'application/json' },
        })
        return judge(status, retryAfterMs(headers['retry-after'], clock.now(), retryBounds))
      } catch (error) {
        // Timeouts and network failures; the guarded client's messages contain no headers.
        const why = error instanceof Error ? error.message : 'unknown'
        return { kind: 'retry', afterMs: minute, scope: 'all', reason: `OpenSea did not answer: ${why}` }
      }
    },
  }
}

function judge(status: number, afterMs: number | undefined): RefreshResult {
  if (status >= 200 && status < 300) return { kind: 'done' }
  const reason = `OpenSea answered ${status}`
  if (status === 429) return { kind: 'retry', afterMs: afterMs ?? minute, scope: 'all', reason }
  if (status >= 500 || status === 408)
    return { kind: 'retry', afterMs: afterMs ?? minute, scope: 'token', reason }
  if (status === 401 || status === 403) return { kind: 'refused', reason: `${reason}: check the API key` }
  if (status < 400) return { kind: 'refused', reason: `${reason}, a redirect: check the base URL` }
  return { kind: 'refused', reason }
}

/** OpenSea's names for its chains, by chain id. A chain missing here has no marketplace. */
const openSeaSlugs: Readonly<Record<number, string>> = {
  1: 'ethereum',
  10: 'optimism',
  130: 'unichain',
  137: 'matic',
  360: 'shape',
  747: 'flow',
  999: 'hyperevm',
  1329: 'sei',
  1868: 'soneium',
  2020: 'ronin',
  2741: 'abstract',
  8333: 'b3',
  8453: 'base',
  33139: 'ape_chain',
  42161: 'arbitrum',
  43114: 'avalanche',
  57073: 'ink',
  80002: 'amoy',
  80094: 'bera_chain',
  81457: 'blast',
  84532: 'base_sepolia',
  7777777: 'zora',
  11155111: 'sepolia',
}
