import { ensNameIn } from '../../../values/recipient.ts'
import type { Chains } from '../../chain/chains.ts'
import { isPoapEvent } from '../../store/badge-events/badge-upstream.ts'
import type { Db } from '../../store/database/database.ts'
import { findClaimRegistration } from '../../store/phygitals/claim-registrations.ts'
import { findToken } from '../../store/phygitals/tokens.ts'
import { pageOfChip } from '../../store/tap-page/tap-pages.ts'
import { badgeRecipient } from '../badge-events/recipient.ts'
import { type Names, resolveRecipient } from '../chain/recipients.ts'
import { assetsOf } from '../chips/chip-record.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import type { ActionName, RecipientCheck } from './content.ts'
import { failureOf } from './failure.ts'
import type { Visit } from './visit.ts'

interface Deps {
  db: Pick<Db, 'read'>
  clock: Clock
  chains: Chains
  names: Names
}

interface RecipientInput extends ActionName {
  recipient: string
}

interface CheckedForm {
  actions: readonly ActionName[]
  isCollect: boolean
  recipient: string
}

/** Checks input while it is typed, and resolves names. Uses nothing up. @returns undefined if nothing is ticked */
export async function checkRecipient(
  deps: Deps,
  visit: Visit,
  { actions, isCollect, recipient }: CheckedForm,
): Promise<RecipientCheck | undefined> {
  // One of each kind, since these differ in the recipients that they take.
  const kinds = new Map(actions.map((action) => [action.kind, action]))
  const checks = await Promise.all(
    [...kinds.values()].map((action) => checkFor(deps, visit, { ...action, recipient })),
  )
  if (!isCollect) return checks[0]
  for (const [index, kind] of [...kinds.keys()].entries()) {
    const check = checks[index]
    if (check?.is === 'bad') return { ...check, of: kind }
  }
  // A badge's name may be left to its provider to look up.
  const good = checks.flatMap((check) => (check.is === 'good' ? [check] : []))
  const shown = good.find(({ recipient }) => recipient.address !== undefined) ?? good[0]
  return shown && { ...shown, kind: kinds.has('claim') ? 'collectClaim' : 'collect' }
}

async function checkFor(deps: Deps, visit: Visit, input: RecipientInput): Promise<RecipientCheck> {
  const { kind, recipient } = input
  try {
    const address = await addressOf(deps, visit, input)
    const isMint = kind === 'claim' && visit.tap.tokenRow === null
    const name = ensNameIn(recipient)
    const wait = kind === 'register' ? await waitOf(deps, visit, address) : undefined
    if (address.includes('@')) return good('email', undefined, undefined)
    return address.startsWith('0x')
      ? good(name === undefined ? 'address' : 'name', address, name)
      : good('name', undefined, address)

    function good(
      is: 'address' | 'name' | 'email',
      address: string | undefined,
      name: string | undefined,
    ): RecipientCheck {
      return { is: 'good', kind, recipient: { is, address, name }, isMint, ...(wait ? { wait } : {}) }
    }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { is: 'bad', failure: failureOf(error, input) }
  }
}

/** How long a registration would wait: the time of a valid one of the same wallet goes on. @param recipient EIP-55 */
async function waitOf(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { tap: { tokenRow, uid } }: Visit,
  recipient: string,
): Promise<Wait | undefined> {
  if (tokenRow === null) {
    const seconds = (await pageOfChip(db.read, uid))?.future?.twoTapDelaySeconds
    return seconds == null ? undefined : { seconds }
  }
  const [token, row] = await Promise.all([
    findToken(db.read, tokenRow),
    findClaimRegistration(db.read, { tokenRow, recipient }),
  ])
  const now = iso(clock.now())
  if (row && row.expiresAt > now) return { openAt: row.allowedAt }
  return token?.twoTapDelaySeconds == null ? undefined : { seconds: token.twoTapDelaySeconds }
}

type Wait = Extract<RecipientCheck, { is: 'good' }>['wait']

/** @returns EIP-55, an e-mail address, or a name that the provider looks up @throws DomainError */
async function addressOf(
  deps: Deps,
  { tap }: Visit,
  { kind, id, recipient }: RecipientInput,
): Promise<string> {
  const requester = { typing: tap.uid }
  // The page must not reveal other teams' events.
  const { token, badgeEvents, guestbookEvents } = await assetsOf(deps.db.read, tap, iso(deps.clock.now()))
  if (kind === 'badge') {
    if (!badgeEvents.some((event) => event.id === id)) throw notFound('badge event')
    return badgeRecipient(deps, requester, recipient, await isPoapEvent(deps.db.read, id))
  }
  const chainId =
    kind === 'guestbook'
      ? guestbookEvents.find((event) => event.id === id)?.chainId
      : (token ?? (await pageOfChip(deps.db.read, tap.uid))?.future)?.chainId
  if (chainId === undefined) throw notFound('token')
  return resolveRecipient(deps, requester, chainId, recipient)
}
