import { readRecipient } from '../../../values/recipient.ts'
import type { Chains } from '../../chain/chains.ts'
import { isPoapEvent } from '../../store/badge-upstream.ts'
import type { Db } from '../../store/database.ts'
import { findGuestbookEvent } from '../../store/guestbook-events.ts'
import { pageOfChip } from '../../store/tap-pages.ts'
import { badgeRecipient } from '../badge-events/recipient.ts'
import { type Names, resolveRecipient } from '../chain/recipients.ts'
import { linkedToken } from '../chips/chip-record.ts'
import { DomainError, notFound } from '../errors.ts'
import type { ActionKind, RecipientCheck } from './content.ts'
import { failureOf } from './failure.ts'
import type { Visit } from './visit.ts'

interface Deps {
  db: Pick<Db, 'read'>
  chains: Chains
  names: Names
}

interface Typed {
  kind: ActionKind
  id: number
  recipient: string
}

/** The rules' opinion of what somebody types, with the address of a name. Uses nothing up. */
export async function checkRecipient(deps: Deps, visit: Visit, typed: Typed): Promise<RecipientCheck> {
  const { kind, recipient } = typed
  try {
    const address = await addressOf(deps, visit, typed)
    const isMint = kind === 'claim' && visit.ref.tokenRow === null
    const form = readRecipient(recipient)
    const name = 'kind' in form && form.kind === 'name' ? form.name : undefined
    if (address.includes('@')) return good('email', undefined, undefined)
    return address.startsWith('0x')
      ? good(name === undefined ? 'address' : 'name', address, name)
      : good('name', undefined, address)

    function good(
      is: 'address' | 'name' | 'email',
      address: string | undefined,
      name: string | undefined,
    ): RecipientCheck {
      return { is: 'good', kind, recipient: { is, address, name }, isMint }
    }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { is: 'bad', failure: failureOf(error) }
  }
}

/** @returns EIP-55, an e-mail address, or a name that the provider looks up @throws DomainError */
async function addressOf(deps: Deps, visit: Visit, { kind, id, recipient }: Typed): Promise<string> {
  const asker = { chip: visit.ref.uid }
  if (kind === 'badge') return badgeRecipient(deps, asker, recipient, await isPoapEvent(deps.db.read, id))
  const chainId = await chainOf(deps, visit, kind, id)
  if (chainId === undefined) throw notFound('token')
  return resolveRecipient(deps, asker, chainId, recipient)
}

async function chainOf({ db }: Deps, { ref }: Visit, kind: ActionKind, id: number) {
  if (kind === 'guestbook') return (await findGuestbookEvent(db.read, id))?.chainId
  return linkedToken(ref)?.chainId ?? (await pageOfChip(db.read, ref.uid))?.future?.chainId
}
