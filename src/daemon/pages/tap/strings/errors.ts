import type { ErrorCode } from '../../../domain/errors/errors.ts'
import type { RefusalReason } from '../../../domain/taps/open-tap.ts'

interface ErrorTexts {
  title: string
  /** Says what to do. */
  advice: string
}

export type UnableReason =
  | 'busy'
  | 'often'
  | 'away'
  | 'starting'
  | 'interrupted'
  | 'missing'
  | 'malformed'
  | 'wrong'

/** Errors that need a text. */
export interface ErrorMessages {
  /** By error code; `reverted` and `cancelled` are for transactions, `otherwise` for all other codes. */
  failures: Partial<Record<ErrorCode, string>> & Record<'reverted' | 'cancelled' | 'otherwise', string>
  refusals: Record<RefusalReason, ErrorTexts>
  unable: Record<UnableReason, ErrorTexts>
  [other: string]: unknown
}
