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
