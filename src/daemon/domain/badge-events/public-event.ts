import { getAddress } from 'viem/utils'
import { creationResponse } from '../../badges/creation-response.ts'
import type { CreationResponse } from '../../badges/provider.ts'
import { findImageFile } from '../../store/badge-events/badge-events.ts'
import {
  badgesHeldBy,
  findShownEvent,
  findShownEventAt,
  isBadgeMinted,
  type ShownBadgeEvent,
} from '../../store/badge-events/shown-badge-events.ts'
import type { Db } from '../../store/database/database.ts'
import type { BadgeEventRow } from '../../store/schema/schema.ts'
import { type BadgeStatus, badgeStatus } from '../chips/badge-status.ts'
import { notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

/** The team of the API key, if any. Called only where it matters; may throw api_key_unknown. */
type AskingTeam = () => number | undefined
type ReadDeps = { db: Pick<Db, 'read'> }

/**
 * Location of an image: on this daemon, below the path of badge events, or elsewhere. `url` is empty if there is
 * none.
 */
export type ImagePlace = { path: string } | { url: string }

/** @throws DomainError not_found, for a private event of another team as well */
export async function showBadgeEvent(
  { db, clock }: ReadDeps & { clock: Clock },
  id: number,
  team: AskingTeam,
): Promise<{ event: BadgeEventRow; status: BadgeStatus; image: ImagePlace }> {
  const event = await findShownEvent(db.read, id)
  if (!event || !isShown(event, team)) throw notFound('badge event')
  return { event, status: badgeStatus(event, iso(clock.now())), image: imageOf(event) }
}

/** An event in POAP's format; `image_url` is still to be filled in. */
export interface PoapEvent {
  response: CreationResponse
  event: BadgeEventRow
  image: ImagePlace
}

/** POAP's format has no status, so rejected events are left out. @throws DomainError not_found */
export async function showAsPoap({ db }: ReadDeps, upstreamId: number, team: AskingTeam): Promise<PoapEvent> {
  const event = await findShownEventAt(db.read, upstreamId)
  if (!event || event.approval === 'rejected' || !isShown(event, team)) throw notFound('badge event')
  return asPoap(event)
}

const maxHeld = 1000

export interface PoapBadge extends PoapEvent {
  tokenId: string
  /** EIP-55. */
  owner: string
  claimedAt: string
}

/** The newest thousand badges of an address at the embedded provider. @param address in any case */
export const badgesOf = (deps: ReadDeps, address: string, team: AskingTeam): Promise<PoapBadge[]> =>
  badgesHeld(deps, { address }, maxHeld, team)

/** An address's newest badge of an event. @throws DomainError not_found */
export async function badgeOf(
  deps: ReadDeps,
  badgeId: { address: string; upstreamId: number },
  team: AskingTeam,
): Promise<PoapBadge> {
  const [badge] = await badgesHeld(deps, badgeId, 1, team)
  if (!badge) throw notFound('badge of this event at this address')
  return badge
}

/** @param badge `eventId` at the embedded provider @throws DomainError not_found */
export async function assertBadge(
  { db }: ReadDeps,
  { eventId, tokenId }: { eventId: number; tokenId: string },
): Promise<void> {
  const claimId = Number(tokenId)
  const exists = Number.isSafeInteger(claimId) && (await isBadgeMinted(db.read, { eventId, claimId }))
  if (!exists) throw notFound('badge of this event')
}

async function badgesHeld(
  { db }: ReadDeps,
  { address, ...of }: { address: string; upstreamId?: number },
  limit: number,
  team: AskingTeam,
): Promise<PoapBadge[]> {
  const owner = getAddress(address)
  const held = await badgesHeldBy(db.read, { recipient: owner, ...of }, limit)
  return held
    .filter((badge) => isShown(badge, team))
    .map(({ claimId, claimedAt, ...event }) => ({
      ...asPoap(event),
      tokenId: String(claimId),
      owner,
      claimedAt: claimedAt ?? event.createdAt,
    }))
}

/** The location of an event's image, for its team. */
export async function imagePlace({ db }: ReadDeps, id: number): Promise<ImagePlace> {
  const event = await findShownEvent(db.read, id)
  return event ? imageOf(event) : { url: '' }
}

/** IDs can be guessed, so the image of a private event also requires its file name. @throws DomainError not_found */
export async function assertImageShown(
  { db }: ReadDeps,
  id: number,
  file: string | undefined,
): Promise<void> {
  const event = await findShownEvent(db.read, id)
  const isOpen = event !== undefined && isOpenToAll(event)
  if (!isOpen && (file === undefined || file !== (await findImageFile(db.read, id)))) throw notFound('image')
}

const isShown = ({ privateEvent, teamId }: BadgeEventRow, team: AskingTeam): boolean =>
  privateEvent === 0 || team() === teamId

const isOpenToAll = ({ privateEvent, approval }: BadgeEventRow): boolean =>
  privateEvent === 0 && approval !== 'rejected'

function imageOf(event: ShownBadgeEvent): ImagePlace {
  const { id, imageFile, poapImageUrl } = event
  if (imageFile === null) return { url: poapImageUrl ?? '' }
  return { path: isOpenToAll(event) ? `/${id}/image` : `/${id}/image?file=${imageFile}` }
}

function asPoap(row: ShownBadgeEvent): PoapEvent {
  const event = { ...row, virtualEvent: row.virtualEvent === 1, privateEvent: row.privateEvent === 1 }
  const response = creationResponse(event, { id: row.upstreamId, imageUrl: '' })
  return { response, event: row, image: imageOf(row) }
}
