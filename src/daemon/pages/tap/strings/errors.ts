import type { ErrorCode } from '../../../domain/errors/errors.ts'
import type { RefusalReason } from '../../../domain/taps/open-tap.ts'

/** Texts by error code; `reverted` and `cancelled` are for transactions, `otherwise` for all other codes. */
export type FailureMessages = Partial<Record<ErrorCode, string>> &
  Record<'reverted' | 'cancelled' | 'otherwise', string>

/** Messages for recipient_invalid, by kind of input. @param count characters after 0x */
export interface InvalidRecipientMessages {
  unknownName: string
  wrongAddress: string
  /** The part before the colon names another chain, or an unknown one. */
  otherChain: string
  wrongLength: (count: number) => string
  /** Like `failures.recipient_invalid`, but mentions e-mail addresses, which badges accept. */
  badge: string
}

export interface ErrorTexts {
  title: string
  /** Says what to do. */
  advice: string
}

export type RefusalMessages = Record<RefusalReason, ErrorTexts>

export type UnableReason =
  | 'busy'
  | 'often'
  | 'away'
  | 'starting'
  | 'interrupted'
  | 'missing'
  | 'malformed'
  | 'wrong'

export type UnableMessages = Record<UnableReason, ErrorTexts>
