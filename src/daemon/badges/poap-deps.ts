/** What this folder needs of the daemon's one way to outside. */
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
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

/** @throws OutboundRefused before anything is sent, OutboundFailed, and what an iterable body throws */
export type SendRequest = (request: HttpRequest) => Promise<HttpAnswer>

/** How a call failed that brought no answer; undefined where it is no matter of the network. */
export function failureOf(error: unknown): { sent: boolean; reason: string } | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'OutboundRefused') return { sent: false, reason: error.message }
  if (error.name !== 'OutboundFailed') return undefined
  // Unless it is known that nothing was sent, it may have been.
  return { sent: !('sent' in error && error.sent === false), reason: error.message }
}

export interface PoapConfig {
  /** The API, as `https://api.poap.tech`, without a slash at its end. */
  url: string
  /** The token endpoint, whole. */
  authUrl: string
  apiKey: string
  clientId: string
  clientSecret: string
  audience: string
  /** Where POAP writes to about an event: it gets the claim links too. */
  email: string
  /** For a call with all its repetitions. */
  timeoutMs: number
  /** How often the daemon asks what became of events and claims. */
  pollSeconds: number
}
