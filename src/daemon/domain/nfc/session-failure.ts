import { UnknownCard } from '../../../nfc/identify.ts'
import { NdefFormatError } from '../../../nfc/ndef.ts'
import { ChipError } from '../../../nfc/ntag424/errors.ts'
import { ProvisionError } from '../../../nfc/provision/errors.ts'
import { DomainError } from '../errors/errors.ts'
import { ChipBusy } from './session-leases.ts'

export interface SessionFailure {
  /** For programs: the error's class or code. */
  readonly code: string
  /** A sentence for people, with the next step. */
  readonly error: string
}

const retryAdvice =
  'Put the chip on the reader again, flat and still. If its setup had started: tapchip nfc recover'

/** A chip failure as text; undefined for internal errors. */
export function failureOf(error: unknown): SessionFailure | undefined {
  if (error instanceof ChipBusy) return { code: 'chip_busy', error: error.message }
  if (error instanceof DomainError) return { code: error.code, error: error.message }
  if (error instanceof ProvisionError || error instanceof UnknownCard)
    return { code: error.name, error: `${error.message}. ${error.advice}` }
  if (error instanceof ChipError || error instanceof NdefFormatError)
    return { code: error.name, error: `${error.message}. ${retryAdvice}` }
  // The URL is too long, or generations have run out.
  if (error instanceof RangeError) return { code: error.name, error: error.message }
  return undefined
}
