import { creationResponse } from '../../badges/creation-response.ts'
import type { NewBadgeEvent } from '../../badges/provider.ts'
import { claimContent, eventOfContent } from '../../store/badge-events/badge-contents.ts'
import { findBadgeEvent } from '../../store/badge-events/badge-events.ts'
import { isPoapEvent } from '../../store/badge-events/badge-upstream.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { conflict, type DomainError, notFound } from '../errors/errors.ts'
import type { ReceivedImage } from './image.ts'
import type { Content, CreatedBadgeEvent, TeamRequester } from './record-created.ts'

export interface EventRequest {
  event: NewBadgeEvent
  image: ReceivedImage
  content: Content
}

export const checkEmailAdvice =
  'The event may have been created there: before you try again, check whether you received its e-mail about the event.'

/** The answer to a repetition of a request whose result is unknown. */
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
