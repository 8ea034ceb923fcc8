import type { DomainError } from '../errors.ts'
import type { Failure } from './content.ts'

/** A refusal without its words, which are for developers. */
export function failureOf({ code, detail: { retryAfterSeconds } }: DomainError): Failure {
  return retryAfterSeconds === undefined ? { code } : { code, retryAfterSeconds }
}
