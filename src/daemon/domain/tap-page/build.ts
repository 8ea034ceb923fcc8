import { withRef } from '../../../values/redirect-url.ts'
import type { Db } from '../../store/database.ts'
import { linksOfTeam } from '../../store/links.ts'
import { pageOfChip } from '../../store/tap-pages.ts'
import { findToken, type LocatedToken } from '../../store/tokens.ts'
import { type Brand, brandOf } from '../access/brand.ts'
import { assetsOf } from '../chips/chip-record.ts'
import { iso } from '../time.ts'
import { type ActionDeps, actionsOf, type PageFacts } from './actions.ts'
import type { Action, ActionKind, Failure, TapPage } from './content.ts'
import { forgetOwner, type OwnerDeps, ownerOnPage, type Reading } from './owner.ts'
import { describePiece } from './piece.ts'
import type { Visit } from './visit.ts'

export type BuildDeps = ActionDeps &
  OwnerDeps & {
    db: Pick<Db, 'read'>
    wire: { refParameter: string }
  }

/** Who looks at a page, and what they just tried. */
export interface Viewing {
  cookies: readonly string[]
  /** See TapPage. */
  query: string | undefined
  tried?: Tried | undefined
  /** Told of what the page waits for. */
  watch?: Watch | undefined
}

export interface Watch {
  transaction(id: number): void
  /** The chain has not said yet who owns the token. */
  owner(told: Promise<unknown>): void
}

/** An action that was refused just now, with what was typed. */
export interface Tried {
  kind: ActionKind
  id: number
  recipient: string
  failure: Failure
}

const noBrand: Brand = { name: null, color: null, background: null, logoUrl: null }

/** The chip of a page as it is now. */
export async function factsOf(
  { db: { read }, clock }: Pick<BuildDeps, 'db' | 'clock'>,
  visit: Visit,
  cookies: readonly string[],
): Promise<PageFacts> {
  const { ref } = visit
  const [carried, page] = await Promise.all([
    assetsOf(read, ref, iso(clock.now())),
    pageOfChip(read, ref.uid),
  ])
  const token = ref.tokenRow === null ? undefined : await findToken(read, ref.tokenRow)
  return { visit, carried, page, token, cookies }
}

/** Everything on a tap page, by the store alone; nothing is used up. */
export async function buildPage(deps: BuildDeps, visit: Visit, viewing: Viewing): Promise<TapPage> {
  const { ref, secrets } = visit
  const { cookies, watch } = viewing
  const [facts, links] = await Promise.all([
    factsOf(deps, visit, cookies),
    linksOfTeam(deps.db.read, ref.teamId),
  ])
  const { page, token } = facts
  const owner = token && ownerOnPage(deps, token)
  const described = describePiece(token?.metadata ?? null, page?.item)
  const watching: ActionDeps = { ...deps, watch: watch && ((id) => watch.transaction(id)) }
  const actions = await actionsOf(watching, facts)
  const known = token && owner && (await settledOwner(deps, { token, reading: owner, actions }))
  if (known && !known.isFinal) watch?.owner(known.told)
  const refs = new Map(secrets.links)
  return {
    ref: secrets.own,
    query: viewing.query,
    uid: ref.uid,
    brand: page ? brandOf(page.brand) : noBrand,
    piece: {
      ...described,
      kind: token ? 'token' : page?.item ? 'item' : 'chip',
      token: token && {
        chainId: token.chainId,
        chainName: deps.explorers.chainName(token.chainId),
        contractAddress: token.contractAddress,
        tokenId: token.tokenId,
        url: deps.explorers.token(token),
      },
      owner: known?.owner,
    },
    actions: actions.map((action) => withFailure(action, viewing.tried)),
    links: links.flatMap(({ id, label, baseUrl }) => {
      const own = refs.get(id)
      return own === undefined ? [] : [{ label, url: withRef(baseUrl, deps.wire.refParameter, own) }]
    }),
    tappedAt: ref.createdAt,
    endsAt: secrets.codes?.endsAt ?? ref.expiresAt,
    isLive: actions.some(({ state }) => state.is === 'pending' || state.is === 'registered'),
  }
}

/** Once a claim is confirmed, what was read of the chain before is not repeated: its page would contradict itself. */
async function settledOwner(
  deps: OwnerDeps,
  { token, reading, actions }: { token: LocatedToken; reading: Reading; actions: readonly Action[] },
) {
  const known = { ...(await reading.soon), told: reading.told }
  const claimed = actions.flatMap(({ kind, state }) =>
    kind === 'claim' && state.is === 'confirmed' && state.recipient ? [state.recipient.toLowerCase()] : [],
  )
  if (!known.owner || claimed.length === 0 || claimed.includes(known.owner.address.toLowerCase()))
    return known
  forgetOwner(deps, token)
  const again = ownerOnPage(deps, token)
  return { ...(await again.soon), told: again.told }
}

/** An action whose state says more than the refusal keeps it. */
function withFailure(action: Action, tried: Tried | undefined): Action {
  if (!tried || tried.kind !== action.kind || tried.id !== action.id) return action
  const { state } = action
  const { failure, recipient } = tried
  if (state.is === 'open') return { ...action, state: { is: 'open', recipient, failure } }
  if (state.is === 'registered') return { ...action, state: { ...state, failure } }
  return action
}
