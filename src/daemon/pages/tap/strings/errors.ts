import type { ErrorCode } from '../../../domain/errors.ts'
import type { RefusalReason } from '../../../domain/taps/open-tap.ts'

/** Words by the code of a refusal; `reverted`, `cancelled`: of a transaction; `otherwise`: all other codes. */
export type FailureWords = Partial<Record<ErrorCode, string>> &
  Record<'reverted' | 'cancelled' | 'otherwise', string>

interface Words {
  title: string
  /** Says what to do. */
  advice: string
}

export type RefusalWords = Record<RefusalReason, Words>

export type Unable = 'busy' | 'often' | 'away' | 'starting' | 'missing' | 'malformed' | 'wrong'

/** `after`: what to do once the time has passed that stands between the two. */
export type UnableWords = Record<Unable, Words & { after: string }>
