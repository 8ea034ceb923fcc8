import { tidyCell } from '../../../values/invisible.ts'
import { UnknownName, WrongChain } from '../../chain/names/resolver.ts'
import type { DomainError } from '../errors/errors.ts'
import type { ActionKind, Failure, InvalidRecipient } from './content.ts'

interface ActionInput {
  kind: ActionKind
  recipient: string
}

/** A refusal without its words, which are for developers. */
export function failureOf(error: DomainError, typed: ActionInput): Failure {
  const { code, detail } = error
  const { retryAfterSeconds } = detail
  return {
    code,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(code === 'recipient_invalid' ? { mistyped: mistypedOf(typed, detail.cause) } : {}),
  }
}

function mistypedOf({ kind, recipient }: ActionInput, cause: unknown): InvalidRecipient {
  if (cause instanceof UnknownName) return { is: 'unknown-name' }
  if (cause instanceof WrongChain) return { is: 'other-chain' }
  // With a dot it is a name, such as 0xabc.eth.
  const typed = /^0x([^.@]*)$/i.exec(tidyCell('recipient', recipient).replace(/^.*:/, ''))?.[1]
  if (typed === undefined) return { is: kind === 'badge' ? 'badge' : 'other' }
  const count = [...typed].length
  return count === 40 ? { is: 'wrong-address' } : { is: 'wrong-length', count }
}
