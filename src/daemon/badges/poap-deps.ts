/** The part of the daemon's guarded HTTP client that is needed here. */
export interface HttpRequest {
  url: string
  method: 'GET' | 'POST'
  headers: Readonly<Record<string, string>>
  body?: string | AsyncIterable<Uint8Array> | undefined
  timeoutMs: number
  maxBytes: number
}

export interface HttpAnswer {
  status: number
  /** Names are in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

/** @throws OutboundRefused before anything is sent, OutboundFailed, and whatever an iterable body throws */
export type SendRequest = (request: HttpRequest) => Promise<HttpAnswer>

/** Describes a failed call; undefined if the error is not about the network. */
export function failureOf(error: unknown): { sent: boolean; reason: string } | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'OutboundRefused') return { sent: false, reason: error.message }
  if (error.name !== 'OutboundFailed') return undefined
  // It may have been sent unless the error says otherwise.
  return { sent: !('sent' in error && error.sent === false), reason: error.message }
}

export interface PoapConfig {
  /** The API, such as `https://api.poap.tech`, without a trailing slash. */
  url: string
  /** The full URL of the token endpoint. */
  authUrl: string
  apiKey: string
  clientId: string
  clientSecret: string
  audience: string
  /** POAP sends messages about an event to this address, including the claim links. */
  email: string
  /** For a call with all its retries. */
  timeoutMs: number
  /** The interval for checking on events and claims. */
  pollSeconds: number
}
