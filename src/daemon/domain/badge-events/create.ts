import { creationResponse } from '../../badges/creation-response.ts'
import { dayProblems } from '../../badges/dates.ts'
import type { NewBadgeEvent } from '../../badges/provider.ts'
import { claimIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import { findBadgeEvent } from '../../store/badge-events.ts'
import { insertImage } from '../../store/badge-images.ts'
import { isPoapEvent } from '../../store/badge-upstream.ts'
import type { Db } from '../../store/database.ts'
import { DomainError, invalid, notFound } from '../errors.ts'
import { createAtPoap, mayBeThere } from './create-at-poap.ts'
import type { ReceivedImage } from './image.ts'
import { type Asking, type CreateDeps, type CreatedBadgeEvent, recordCreated } from './record-created.ts'

export type { CreatedBadgeEvent } from './record-created.ts'

/**
 * Creates a badge event at the provider, and keeps it for its team.
 * @throws DomainError invalid_input (days, codes), badge_refused, badge_unavailable, conflict
 */
export async function createBadgeEvent(
  deps: CreateDeps,
  asking: Asking,
  event: NewBadgeEvent,
  image: ReceivedImage,
): Promise<CreatedBadgeEvent> {
  const provider = deps.badges.providers.current
  assertSound(event, provider.name === 'poap')
  if (provider.name === 'poap') return createAtPoap(deps, provider, asking, { event, image })
  const created = await provider.create(event, image, '')
  if (created.kind !== 'created') throw new Error('the embedded provider takes every event')
  const id = await deps.db.write(async (trx) => {
    const badgeEventId = await recordCreated(trx, deps.clock, asking, {
      event,
      created,
      provider: provider.name,
    })
    await insertImage(trx, { badgeEventId, file: image.file, type: image.type })
    if (asking.idempotency) await claimIdempotencyKey(trx, asking.idempotency, badgeEventId)
    return badgeEventId
  })
  deps.badges.nudge()
  return { id, keepsImage: true, response: created.response }
}

/** What creating an event was answered with, of one that is there. @throws DomainError not_found, conflict */
export async function createdBefore(
  { db }: { db: Pick<Db, 'read'> },
  id: number,
): Promise<CreatedBadgeEvent> {
  // Of a request that was cut off before its event was here.
  if (id === 0) throw mayBeThere()
  const row = await findBadgeEvent(db.read, id)
  if (!row) throw notFound('badge event')
  const event = { ...row, virtualEvent: row.virtualEvent === 1, privateEvent: row.privateEvent === 1 }
  return {
    id,
    keepsImage: !(await isPoapEvent(db.read, id)),
    response: creationResponse(event, { id: row.upstreamId, imageUrl: '' }),
  }
}

function assertSound(event: NewBadgeEvent, isForPoap: boolean): void {
  const problems = dayProblems(event)
  if (problems.length > 0) {
    const errors = Object.fromEntries(problems.map(({ field, message }) => [field, message]))
    const text = problems.map(({ field, message }) => `${field} ${message}`).join('; ')
    throw new DomainError('invalid_input', text, { errors })
  }
  if (!isForPoap) return
  if (event.requestedCodes < 1) throw invalid('requestedCodes', 'must be at least 1: POAP decides on codes')
  if (event.requestedCodes > 50_000) throw invalid('requestedCodes', 'must be at most 50000 at POAP')
}
