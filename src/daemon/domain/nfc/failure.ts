import { UnknownCard } from '../../../nfc/identify.ts'
import { NdefFormatError } from '../../../nfc/ndef.ts'
import { ChipError } from '../../../nfc/ntag424/errors.ts'
import { ProvisionError } from '../../../nfc/provision/errors.ts'
import { DomainError } from '../errors.ts'

export interface Failure {
  /** For programs: the class of the error, or its code. */
  readonly code: string
  /** What, why, and what to do. */
  readonly error: string
}

const again = 'Lay the chip down again, flat and still; if it was begun on: tapchip nfc recover'

/** Why a chip failed, in words; undefined where that is nobody's to know. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof DomainError) return { code: error.code, error: error.message }
  if (error instanceof ProvisionError || error instanceof UnknownCard)
    return { code: error.name, error: `${error.message}. ${error.advice}` }
  if (error instanceof ChipError || error instanceof NdefFormatError)
    return { code: error.name, error: `${error.message}. ${again}` }
  // A URL that does not fit, or generations that have run out.
  if (error instanceof RangeError) return { code: error.name, error: error.message }
  return undefined
}
