import { tidyCell } from '../../../values/invisible.ts'
import { UnknownName, WrongChain } from '../../chain/names/resolver.ts'
import type { DomainError } from '../errors/errors.ts'
import type { ActionKind, Failure, InvalidRecipient } from './content.ts'

interface ActionInput {
  kind: ActionKind
  recipient: string
}

/** A refusal without its message, which is for developers. */
export function failureOf(error: DomainError, input: ActionInput): Failure {
  const { code, detail } = error
  const { retryAfterSeconds } = detail
  return {
    code,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(code === 'recipient_invalid' ? { mistyped: invalidRecipientOf(input, detail.cause) } : {}),
  }
}

function invalidRecipientOf({ kind, recipient }: ActionInput, cause: unknown): InvalidRecipient {
  if (cause instanceof UnknownName) return { is: 'unknown-name' }
  if (cause instanceof WrongChain) return { is: 'other-chain' }
  // With a dot it is a name, such as 0xabc.eth.
  const digits = /^0x([^.@]*)$/i.exec(tidyCell('recipient', recipient).replace(/^.*:/, ''))?.[1]
  if (digits === undefined) return { is: kind === 'badge' ? 'badge' : 'other' }
  const count = [...digits].length
  return count === 40 ? { is: 'wrong-address' } : { is: 'wrong-length', count }
}
