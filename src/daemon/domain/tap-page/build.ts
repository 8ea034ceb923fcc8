import { withRef } from '../../../values/redirect-url.ts'
import { linksOfTeam } from '../../store/chips/links.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import { claimRegistrationsOf } from '../../store/phygitals/claim-registrations.ts'
import { findToken } from '../../store/phygitals/tokens.ts'
import { pageOfChip } from '../../store/tap-page/tap-pages.ts'
import { type Brand, brandOf } from '../access/brand.ts'
import { imagePlace } from '../badge-events/public-event.ts'
import { assetsOf, linkedToken } from '../chips/chip-record.ts'
import { type ReservationReadDeps, reservationsOf } from '../reservations/own.ts'
import { iso } from '../time/time.ts'
import { type ActionDeps, actionsOf, type PageFacts, shownBadges } from './actions.ts'
import { calendarQuery } from './calendar.ts'
import type { Action, ActionName, Collected, Failure, TapPage } from './content.ts'
import { type OwnerDeps, ownerOnPage } from './owner.ts'
import { describePiece, tokenOnPage } from './piece.ts'
import { publicPath } from './public-page.ts'
import { claimsOfBrowser } from './registration.ts'
import { reserveOn, type TriedReserve } from './reserve-state.ts'
import { readStory, storyEntries } from './story.ts'
import type { Visit } from './visit.ts'

export type BuildDeps = ActionDeps &
  OwnerDeps & {
    db: Pick<Db, 'read' | 'write'>
    box: SecretBox
    config: { mail: unknown }
    wire: { refParameter: string }
  }

/** One view of a page, with what was tried just before. */
export interface ViewOptions {
  cookies: readonly string[]
  /** See TapPage. */
  query: string | undefined
  tried?: readonly RefusedAction[] | undefined
  collected?: Collected | undefined
  reserve?: TriedReserve | undefined
  /** Called with changes to wait for. */
  watch?: Watch | undefined
}

export interface Watch {
  transaction(id: number): void
  /** The chain has not answered yet who owns the token. */
  owner(settled: Promise<unknown>): void
}

/** An action that was just refused, with its input. */
export interface RefusedAction extends ActionName {
  recipient: string
  failure: Failure
}

const noBrand: Brand = { name: null, color: null, background: null, logoUrl: null }

/** The current state of a page's chip. */
export async function factsOf(
  deps: ReservationReadDeps,
  visit: Visit,
  cookies: readonly string[],
): Promise<PageFacts> {
  const { db, clock } = deps
  const { read } = db
  const { tap } = visit
  const { tokenRow } = tap
  const carried = await assetsOf(read, tap, iso(clock.now()), visit.keptAt)
  const [page, token, registrations, images] = await Promise.all([
    pageOfChip(read, tap.uid),
    tokenRow === null ? undefined : findToken(read, tokenRow),
    tokenRow === null ? [] : claimRegistrationsOf(read, { tokenRow }),
    Promise.all(shownBadges(carried).map(({ id }) => imagePlace({ db }, id))),
  ])
  const reservations = page?.hasReservations
    ? await reservationsOf(deps, tap)
    : { own: undefined, isKeptByOther: false }
  return { visit, carried, page, token, registrations, images, cookies, reservations }
}

/** Everything on a tap page, according to the store; uses nothing up. */
export async function buildPage(deps: BuildDeps, visit: Visit, viewing: ViewOptions): Promise<TapPage> {
  const { tap } = visit
  const { cookies, watch } = viewing
  const storyToken = linkedToken(tap)
  // Only the cards of an open page change.
  const story = () => (watch ? [] : readStory(deps, tap.uid, storyToken))
  const [facts, links, ofToken] = await Promise.all([
    factsOf(deps, visit, cookies),
    // A newer link has no ref on this page.
    visit.links.length === 0 ? [] : linksOfTeam(deps.db.read, tap.teamId),
    // In the same round trip: whether there is one need not be read first.
    storyToken && story(),
  ])
  const { page, token } = facts
  const rows = ofToken ?? (page?.hasStory ? await story() : [])
  const described = describePiece(token?.metadata ?? null, page?.item)
  const watching: ActionDeps = watch ? { ...deps, watch: (id) => watch.transaction(id) } : deps
  const actions = await actionsOf(watching, facts)
  // After the actions: whoever is told that a claim is done is told the new owner, too.
  const claims = await claimsOfBrowser(deps, facts)
  const reading = token && ownerOnPage(deps, token, { since: claims.latest, isFollowed: watch !== undefined })
  const known = await reading?.quick
  if (reading && !known?.isFinal) watch?.owner(reading.settled)
  const owner = known?.owner
  const isYours = owner !== undefined && claims.recipients.has(owner.address)
  const opensAt = actions.flatMap(({ state }) => (state.is === 'registered' ? [state.allowedAt] : []))[0]
  const refs = new Map(visit.links)
  return {
    ref: visit.ref,
    query: viewing.query,
    uid: tap.uid,
    ownWords: page?.brand.pageStrings,
    publicPage: await publicPath(deps, tap.uid, page?.publicId),
    brand: page ? brandOf(page.brand) : noBrand,
    // V8 takes microseconds where what is spread comes first, and next to nothing where it comes last.
    piece: {
      kind: token ? 'token' : page?.item ? 'item' : 'chip',
      token: token && tokenOnPage(token, deps),
      owner: owner && (isYours ? { ...owner, isYours } : owner),
      isUnowned: known?.isUnowned,
      ...described,
    },
    tamper: page?.tamper,
    actions: actions.map((action) => withFailure(action, viewing.tried)),
    story: watch || !page ? undefined : storyEntries(rows, page),
    reserve: deps.config.mail === undefined ? undefined : reserveOn(facts, actions, viewing.reserve),
    collected: viewing.collected,
    links: links.flatMap(({ id, label, baseUrl }) => {
      const own = refs.get(id)
      return own === undefined ? [] : [{ label, url: withRef(baseUrl, deps.wire.refParameter, own) }]
    }),
    tappedAt: tap.at,
    endsAt: visit.codes?.until ?? tap.refsUntil ?? tap.at,
    isLive: actions.some(({ state }) => state.is === 'pending' || state.is === 'registered'),
    ...(opensAt === undefined ? {} : { calendar: calendarQuery(deps, opensAt, described.name) }),
  }
}

/** If the action's state says more than the refusal, it is kept. */
function withFailure(action: Action, tried: readonly RefusedAction[] = []): Action {
  const refused = tried.find(({ kind, id }) => kind === action.kind && id === action.id)
  if (!refused) return action
  const { state } = action
  const { failure, recipient } = refused
  if (state.is === 'open') return { ...action, state: { is: 'open', recipient, failure } }
  if (state.is === 'registered') return { ...action, state: { ...state, failure } }
  const isOther = failure.code === 'idempotency_conflict' && state.is !== 'closed' && state.is !== 'failed'
  return isOther ? { ...action, state: { ...state, failure } } : action
}
