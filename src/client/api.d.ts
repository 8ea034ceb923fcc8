// The types of `tapchip/client`, as the package has them. The build adds the operations.

export interface ClientOptions {
  /** Where the daemon is, such as `https://taps.example` or `https://example.com/taps`. In a page it may be relative. */
  readonly baseUrl: string
  /** For servers alone: whoever has it acts for the team. The calls of a tap need none. */
  readonly apiKey?: string | undefined
  /** For one attempt, its answer included. Default: 30,000 */
  readonly timeoutMs?: number | undefined
  /** How often a request is sent again, at most, where that is safe. Default: 3 */
  readonly retries?: number | undefined
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

export interface CallOptions {
  /** Ends the call and what it waits for; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  /**
   * For calls that send or mint something: one request, however often it is sent. Each call makes one of its own,
   * for its retries; give yours where the call itself may be made again, as after a page was reloaded.
   */
  readonly idempotencyKey?: string | undefined
}

/** Every failure but an abort. */
export declare class TapchipError extends Error {
  override readonly name: 'TapchipError'
  /**
   * For programs: the daemon's own (`otp_used`, `registration_missing`, …), or `invalid_argument` (nothing was sent),
   * `unreachable` (no answer), `timeout`, `not_tapchip` (something else answered), `webhook_invalid`.
   */
  readonly code: string
  /** HTTP status code; 0 if there was no response. */
  readonly status: number
  /** By which the daemon's log finds the request; empty without an answer. */
  readonly requestId: string
  /** That the request recorded, or recorded if it was done at all: see `getTransaction`. */
  readonly transactionId: number | undefined
  /** In seconds. */
  readonly retryAfter: number | undefined
  /** Messages by dotted path, where the daemon checked a structure. */
  readonly errors: Readonly<Record<string, string>> | undefined
}

/** @throws TapchipError `invalid_argument` */
export declare function createClient(options: ClientOptions): Client

/**
 * Verifies a delivery by the Standard Webhooks convention, and reads it.
 * @param body exactly as it arrived: text or bytes, not parsed
 * @param secret `whsec_…`; several while one is rolled
 * @throws TapchipError `webhook_invalid`: answer 400, and do nothing
 */
export declare function verifyWebhook(
  body: string | ArrayBuffer | Uint8Array,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  secret: string | readonly string[],
  options?: {
    /** How far the clocks may be apart. Default: 300 */
    readonly toleranceSeconds?: number
    /** Default: now */
    readonly at?: Date
  },
): Promise<Webhook>

/** @property id the same at each attempt: process a delivery whose ID you know no further, and answer 200 */
export type Webhook = { readonly id: string } & WebhookEvent

/** `timestamp`: when it happened, ISO 8601. */
export type WebhookEvent = {
  [T in keyof WebhookData]: { readonly type: T; readonly timestamp: string; readonly data: WebhookData[T] }
}[keyof WebhookData]

interface TokenReceived {
  readonly contractAddress: string
  readonly chainId: number
  readonly tokenId: string
  readonly recipient: string
  /** Null where none is signed yet; `transaction.settled` reports the end. */
  readonly initialTxHash: string | null
}

interface ValidTap {
  readonly uid: string
  readonly counter: number
  readonly via: string
  readonly keySet: number | null
  readonly chipGroup: string | null
  /** Of a chip that encrypts some: text, or hex with `0x`. */
  readonly fileData?: string
}

export interface WebhookData {
  readonly 'tap.valid': ValidTap
  /** As `tap.valid`, while the chip was set up or checked. Only for webhooks that name it. */
  readonly 'tap.setup': ValidTap
  readonly 'tap.refused': { readonly uid: string; readonly outcome: string }
  readonly 'chip.opened': { readonly uid: string } & Readonly<Record<string, unknown>>
  readonly 'audit.broken': { readonly at: string; readonly lastId: number; readonly expected: number }
  /** `balance` in wei. */
  readonly 'relayer.low': {
    readonly chainId: number
    readonly address: string
    readonly balance: string
    readonly transactionsLeft: number
  }
  readonly 'claim.registered': {
    readonly contractAddress: string
    readonly chainId: number
    readonly tokenId: string
    readonly recipient: string
    readonly allowedAt: string
    readonly expiresAt: string
  }
  readonly 'token.transferred': TokenReceived
  readonly 'guestbook.minted': TokenReceived
  readonly 'badge.minted': {
    readonly badgeEventId: number
    readonly recipient: string
    readonly uid: string | null
  }
  readonly 'transaction.settled': {
    readonly hash: string | null
    readonly initialTxHash: string | null
    readonly state: 'confirmed' | 'failed'
    readonly chainId: number
  }
  /** Asked for by `tapchip webhooks test`. */
  readonly 'webhook.test': { readonly webhook: number }
}

/** The build replaces it: one method per operation. */
export type Client = object
