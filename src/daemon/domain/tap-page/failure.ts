import type { DomainError } from '../errors.ts'
import type { Failure } from './content.ts'

/** A refusal as strangers may read it. */
export function failureOf({ code, message, detail }: DomainError): Failure {
  const { forStrangers, retryAfterSeconds } = detail
  const failure = { code, message: forStrangers ?? message }
  return retryAfterSeconds === undefined ? failure : { ...failure, retryAfterSeconds }
}
