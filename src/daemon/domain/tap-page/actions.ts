import { parseObject } from '../../../values/json.ts'
import type { LocatedGuestbookEvent } from '../../store/guestbook/guestbook-events.ts'
import type { PageOfChip } from '../../store/tap-page/tap-pages.ts'
import type { ImagePlace } from '../badge-events/public-event.ts'
import type { ListedBadgeEvent } from '../chips/badge-status.ts'
import type { ChipAssets } from '../chips/chip-record.ts'
import { claimOf, issuedCodes } from '../codes/seals.ts'
import type { OwnReservation } from '../reservations/own.ts'
import { isGood, isQueried, mayClaim, mintsNow } from '../taps/refs.ts'
import type { Action, ActionName, ActionState, ClosedReason } from './content.ts'
import {
  badgeState,
  closedReason,
  codeOf,
  nameOfResult,
  type RecordDeps,
  recordedRegistration,
  transactionState,
} from './records.ts'
import {
  type OwnRegistration,
  pastRegistration,
  type RegistrationFacts,
  registrationOf,
  whyGone,
} from './registration.ts'

export type ActionDeps = RecordDeps & { urlOfImage(image: ImagePlace): string }

/** A chip can carry any number of events; the active ones come first. */
const maxPerKind = 50

/** A chip's data for its tap page. */
export interface PageFacts extends RegistrationFacts {
  carried: ChipAssets
  page: PageOfChip | undefined
  /** Images of the badges that are shown, in order. */
  images: readonly ImagePlace[]
  reservations: { own: OwnReservation | undefined; isKeptByOther: boolean }
}

/** Everything that a tap allows, with its state according to the store: register, claim, badges, guestbooks. */
export async function actionsOf(deps: ActionDeps, facts: PageFacts): Promise<Action[]> {
  const { carried, page, token, visit } = facts
  const future = page?.future
  const isClaim = token !== undefined || (future !== undefined && mintsNow(carried))
  const delay = token ? token.twoTapDelaySeconds : (future?.twoTapDelaySeconds ?? null)
  const claims: Action[] = []
  let registration: OwnRegistration | undefined
  if (isClaim || claimOf(visit.codes) !== undefined) {
    registration = delay === null ? undefined : await registrationOf(deps, facts)
    if (delay !== null)
      claims.push({
        ...bare('register'),
        waitSeconds: delay,
        state: await registerState(deps, facts, registration),
      })
    claims.push({ ...bare('claim'), state: await claimState(deps, facts, registration?.state) })
  }
  const badges = await Promise.all(
    shownBadges(carried).map((event, index) => badgeAction(deps, facts, event, facts.images[index])),
  )
  const guestbooks = await Promise.all(
    carried.guestbookEvents.slice(0, maxPerKind).map((event) => guestbookAction(deps, facts, event)),
  )
  return Promise.all(
    [...claims, ...badges.flat(), ...guestbooks.flat()].map(async (action) => {
      const isRegistered = action.state.is === 'registered'
      const name = isRegistered ? registration?.name : await nameOfResult(deps, visit, action)
      return name === undefined ? action : { ...action, name }
    }),
  )
}

export const shownBadges = ({ badgeEvents }: ChipAssets): readonly ListedBadgeEvent[] =>
  badgeEvents.slice(0, maxPerKind)

const bare = (kind: 'register' | 'claim'): Omit<Action, 'state'> => ({
  kind,
  id: 0,
  title: '',
  description: '',
  imageUrl: undefined,
  takesDevice: false,
})

/** Actions of a page whose codes are not made (yet). */
function withoutCodes({ visit: { tap } }: PageFacts, now: number): ActionState {
  const ref = { ...tap, ordinal: 0 }
  if (isGood(ref, now)) return { is: 'open' }
  return { is: 'closed', reason: isQueried(ref) ? 'used' : 'expired' }
}

async function registerState(
  deps: ActionDeps,
  facts: PageFacts,
  registration: OwnRegistration | undefined,
): Promise<ActionState> {
  if (registration) return registration.state
  const code = claimOf(facts.visit.codes)
  const past = code === undefined ? undefined : await pastRegistration(deps, facts.visit, code)
  return past ?? claimByCode(deps, facts)
}

async function claimState(
  deps: ActionDeps,
  facts: PageFacts,
  registration: OwnRegistration['state'] | undefined,
): Promise<ActionState> {
  const code = claimOf(facts.visit.codes)
  const pending = code === undefined ? undefined : await transactionState(deps, code, 'claim')
  if (pending) return pending
  const state = await claimByCode(deps, facts)
  if (code !== undefined && !registration && state.is === 'closed' && state.reason === 'used') {
    const registration = await recordedRegistration(deps, code)
    // This page used up its own code.
    if (registration) return { is: 'closed', reason: whyGone(deps, facts.visit, registration) }
  }
  // The code of the registering tap is always used up.
  if (registration && (state.is === 'open' || registration.isSameTap)) return registration
  return state
}

async function badgeAction(
  deps: ActionDeps,
  facts: PageFacts,
  event: ListedBadgeEvent,
  image: ImagePlace = { url: '' },
): Promise<Action[]> {
  const { codes } = facts.visit
  const code = codes?.badges.get(event.id)
  // Assigned after this tap's codes were made: only the next tap can collect it.
  if (codes && code === undefined) return []
  const pending = code === undefined ? undefined : await badgeState(deps, code)
  const state = pending ?? badgeClosed(event) ?? (await byCode(deps, facts, { kind: 'badge', id: event.id }))
  const imageUrl = deps.urlOfImage(image)
  return [
    {
      kind: 'badge',
      id: event.id,
      title: event.shownTitle || event.name,
      description: event.shownDescription || event.description,
      imageUrl: imageUrl === '' ? undefined : imageUrl,
      takesDevice: true,
      state,
    },
  ]
}

/** An inactive event would look like an offer. */
function badgeClosed({ status, startDate, expiryDate }: ListedBadgeEvent): ActionState | undefined {
  switch (status) {
    case 'active':
      return undefined
    case 'future':
      return { is: 'closed', reason: 'future', date: startDate }
    case 'expired':
      return { is: 'closed', reason: 'over', date: expiryDate }
    case 'pending-approval':
    case 'rejected':
      return { is: 'closed', reason: 'not-approved' }
  }
}

async function guestbookAction(
  deps: ActionDeps,
  facts: PageFacts,
  event: LocatedGuestbookEvent,
): Promise<Action[]> {
  const { codes } = facts.visit
  const code = codes?.guestbooks.get(event.id)
  if (codes && code === undefined) return []
  const state = code === undefined ? undefined : await transactionState(deps, code, 'guestbook')
  const { name, description, image } = parseObject(event.metadata) ?? {}
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  return [
    {
      kind: 'guestbook',
      id: event.id,
      title: event.name || text(name),
      description: text(description),
      imageUrl: text(image) || undefined,
      takesDevice: false,
      state: state ?? (await byCode(deps, facts, { kind: 'guestbook', id: event.id })),
    },
  ]
}

/** A claim of a later tap ends this one's, even if its codes are not made yet. */
async function claimByCode(deps: RecordDeps, facts: PageFacts): Promise<ActionState> {
  const state = await byCode(deps, facts, { kind: 'claim', id: 0 })
  const { tap } = facts.visit
  if (state.is === 'open' && facts.reservations.isKeptByOther) return { is: 'closed', reason: 'kept' }
  const isUnused = state.is === 'open' || (state.is === 'closed' && state.reason === 'expired')
  return isUnused && !mayClaim(tap, tap) ? { is: 'closed', reason: 'claimed' } : state
}

async function byCode(deps: RecordDeps, facts: PageFacts, action: ActionName): Promise<ActionState> {
  if (!facts.visit.codes) return withoutCodes(facts, deps.clock.now())
  const code = codeOf(facts.visit.codes, action)
  const reason: ClosedReason | undefined = code === undefined ? 'expired' : await closedReason(deps, code)
  if (reason === undefined) return { is: 'open' }
  return { is: 'closed', reason: reason === 'used' ? await usedOrKept(deps, facts, action) : reason }
}

/** A page's code that is used up may have been used for keeping the thing. */
async function usedOrKept(
  deps: RecordDeps,
  { visit: { tap }, reservations: { own } }: PageFacts,
  action: ActionName,
): Promise<ClosedReason> {
  const kept = own && issuedCodes(deps.seals, { id: tap.tapId, at: tap.at }, tap.codes, 'kept')
  const code = codeOf(kept, action)
  if (code === undefined) return 'used'
  if (own?.row.state === 'ended') return 'expired'
  return (await closedReason(deps, code)) === 'used' ? 'kept-given' : 'kept-here'
}
