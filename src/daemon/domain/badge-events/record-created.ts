import { createHash } from 'node:crypto'
import { creationResponse } from '../../badges/creation-response.ts'
import type { CreateResult, CreationResponse, NewBadgeEvent } from '../../badges/provider.ts'
import type { KeyedRequest } from '../../chain/relayer/record-intent.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { claimContent, eventOfContent } from '../../store/badge-events/badge-contents.ts'
import {
  findBadgeEvent,
  findBadgeEventNamed,
  insertBadgeEvent,
  nextUpstreamId,
} from '../../store/badge-events/badge-events.ts'
import { isPoapEvent } from '../../store/badge-events/badge-upstream.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { conflict, type DomainError, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import type { ReceivedImage } from './image.ts'
import type { Providers } from './providers.ts'

export interface CreateDeps {
  db: Db
  box: SecretBox
  clock: Clock
  badges: { providers: Providers; wake(): void }
}

export interface TeamRequester {
  teamId: number
  actor: Actor
  idempotency: KeyedRequest | undefined
  /** Called once the key is stored, before anything that may fail. */
  recorded?: () => void
}

/** Identifies an event when a sheet is sent again. @param image SHA-256, in hex */
export function contentHash(event: NewBadgeEvent, image: string): string {
  const { name, description, city, country, startDate, endDate, expiryDate } = event
  const { requestedCodes, virtualEvent, eventUrl, privateEvent, maxPerRecipient } = event
  // In this order, and without the maximum if it is the default, so that older sheets still find their events.
  const identity = {
    ...{ name, description, city, country, startDate, endDate, expiryDate, requestedCodes, virtualEvent },
    ...{ eventUrl, privateEvent, ...(maxPerRecipient === 1 ? {} : { maxPerRecipient }) },
  }
  return createHash('sha256')
    .update(JSON.stringify([identity, image]))
    .digest('hex')
}

export interface Content {
  hash: string
  /** True: return the event that was already created from this content, if any. */
  isOnce: boolean
}

export interface CreatedBadgeEvent {
  id: number
  /** True if it already existed. */
  isUnchanged?: boolean
  /** True if this daemon serves the image. */
  keepsImage: boolean
  response: CreationResponse
}

export type Created = Extract<CreateResult, { kind: 'created' }>

interface EventToRecord {
  event: NewBadgeEvent
  created: Created
  provider: 'embedded' | 'poap'
}

/** Stores an event that the provider has created. @returns its ID */
export async function recordCreated(
  trx: Queries,
  clock: Clock,
  { teamId, actor }: TeamRequester,
  { event, created, provider }: EventToRecord,
): Promise<number> {
  const at = iso(clock.now())
  const id = await insertBadgeEvent(trx, { ...rowOf(event, teamId, created, at), provider })
  await recordChange(trx, {
    at,
    actor,
    teamId,
    action: 'badge-events.create',
    target: String(id),
    detail: { name: event.name, provider, upstreamId: created.upstreamId },
  })
  return id
}

/** A step of a larger write: creates the team's event of this name with all its codes, if missing. @returns its ID */
export async function ensureBadgeEventIn(
  trx: Queries,
  { teamId, at }: { teamId: number; at: string },
  event: NewBadgeEvent,
): Promise<number> {
  const known = await findBadgeEventNamed(trx, teamId, event.name)
  if (known !== undefined) return known
  const created = { upstreamId: await nextUpstreamId(trx), approval: 'approved' as const }
  return insertBadgeEvent(trx, rowOf(event, teamId, created, at))
}

const rowOf = (
  { privateEvent, virtualEvent, ...event }: NewBadgeEvent,
  teamId: number,
  { upstreamId, approval }: Pick<Created, 'upstreamId' | 'approval'>,
  createdAt: string,
) => ({
  ...event,
  privateEvent: Number(privateEvent),
  virtualEvent: Number(virtualEvent),
  remainingCodes: approval === 'approved' ? event.requestedCodes : 0,
  teamId,
  upstreamId,
  approval,
  createdAt,
})

export interface EventRequest {
  event: NewBadgeEvent
  image: ReceivedImage
  content: Content
}

export const checkEmailAdvice =
  'The event may have been created there: before you try again, check whether you received its e-mail about the event.'

/** Answers a repeated request whose result is unknown. */
export const possibleDuplicate = (): DomainError =>
  conflict(
    `This request was sent to the badge provider before, and the connection broke before it answered. It is not sent again under its Idempotency-Key. ${checkEmailAdvice} If the event does not exist, send the request under a new key.`,
  )

export const contentOf = ({ teamId }: TeamRequester, { content }: EventRequest) => ({
  teamId,
  hash: content.hash,
})

/** @returns the event that was created of this content before. @throws DomainError conflict */
export async function claim(
  trx: Queries,
  requester: TeamRequester,
  request: EventRequest,
): Promise<number | undefined> {
  const content = contentOf(requester, request)
  if (!request.content.isOnce || (await claimContent(trx, content))) return undefined
  const known = await eventOfContent(trx, content)
  if (known == null)
    throw conflict(
      `This event was sent to the badge provider before, and there is no answer yet. ${checkEmailAdvice} If the event does not exist, create it by itself: tapchip badge-events create --name …`,
    )
  return known
}

/** The answer for an event that was created before. @throws DomainError not_found, conflict */
export async function createdBefore(
  { db }: { db: Pick<Db, 'read'> },
  id: number,
): Promise<CreatedBadgeEvent> {
  // The request was cut off before its event was stored.
  if (id === 0) throw possibleDuplicate()
  const row = await findBadgeEvent(db.read, id)
  if (!row) throw notFound('badge event')
  const event = { ...row, virtualEvent: row.virtualEvent === 1, privateEvent: row.privateEvent === 1 }
  return {
    id,
    keepsImage: !(await isPoapEvent(db.read, id)),
    response: creationResponse(event, { id: row.upstreamId, imageUrl: '' }),
  }
}
