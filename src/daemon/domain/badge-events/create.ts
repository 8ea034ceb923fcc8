import { creationResponse } from '../../badges/creation-response.ts'
import { dayProblems } from '../../badges/dates.ts'
import {
  type BadgeProvider,
  type CreateResult,
  type NewBadgeEvent,
  newSecretCode,
  type Unavailable,
} from '../../badges/provider.ts'
import { reserveIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import { findBadgeEvent, insertImage } from '../../store/badge-events.ts'
import {
  creationContext,
  deleteCreation,
  findCreationOfKey,
  forgetCreationKey,
  insertCreation,
  insertPoapEvent,
  isPoapEvent,
  leaveCreationUnknown,
  secretCodeContext,
  tieCreationKey,
} from '../../store/badge-upstream.ts'
import type { Db } from '../../store/database.ts'
import { conflict, DomainError, invalid, notFound } from '../errors.ts'
import { iso } from '../time.ts'
import type { ReceivedImage } from './image.ts'
import {
  type CreateDeps,
  type Created,
  type CreatedBadgeEvent,
  recordCreated,
  type TeamRequester,
} from './record-created.ts'

export type { CreatedBadgeEvent } from './record-created.ts'

/** @throws DomainError invalid_input (days, codes), badge_refused, badge_unavailable, conflict */
export async function createBadgeEvent(
  deps: CreateDeps,
  asking: TeamRequester,
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
    if (asking.idempotency) await reserveIdempotencyKey(trx, asking.idempotency, badgeEventId)
    return badgeEventId
  })
  deps.badges.wake()
  return { id, keepsImage: true, response: created.response }
}

/** The answer for an event that was created before. @throws DomainError not_found, conflict */
export async function createdBefore(
  { db }: { db: Pick<Db, 'read'> },
  id: number,
): Promise<CreatedBadgeEvent> {
  // The request was cut off before its event was stored.
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
  if (event.requestedCodes < 1) throw invalid('requestedCodes', 'must be at least 1 at POAP')
  if (event.requestedCodes > 50_000) throw invalid('requestedCodes', 'must be at most 50000 at POAP')
}

interface Wanted {
  event: NewBadgeEvent
  image: ReceivedImage
}

/**
 * Creates an event at POAP. The request is stored before it is sent: the event's secret code cannot be retrieved
 * later, and a repeated request must not create a second event. @throws DomainError badge_refused,
 * badge_unavailable, conflict
 */
async function createAtPoap(
  deps: CreateDeps,
  poap: BadgeProvider,
  asking: TeamRequester,
  wanted: Wanted,
): Promise<CreatedBadgeEvent> {
  const secretCode = newSecretCode()
  const creation = await begin(deps, asking, wanted, secretCode)
  const result = await send(deps, poap, creation, wanted, secretCode)
  switch (result.kind) {
    case 'created':
      return finish(deps, asking, { creation, created: result, secretCode, ...wanted })
    case 'refused':
      await forget(deps, asking, creation)
      throw new DomainError('badge_refused', result.message)
    case 'unavailable':
      await forget(deps, asking, creation)
      throw unavailable('The badge provider cannot be reached. Nothing was created; try again.', result)
    case 'unknown': {
      await deps.db.write((trx) => leaveCreationUnknown(trx, creation))
      // Clients retry automatically after short delays, which could create a second event.
      const retryAfterMs = Math.max(result.retryAfterMs, 60_000)
      throw unavailable(`The connection to the badge provider broke before it answered. ${checkForEmail}`, {
        ...result,
        retryAfterMs,
      })
    }
  }
}

const checkForEmail =
  'The event may have been created there: before you try again, check whether you received its e-mail about the event.'

/** The answer to a repetition of a request whose result is unknown. */
const mayBeThere = (): DomainError =>
  conflict(
    `This request was sent to the badge provider before, and the connection broke before it answered. It is not sent again under its Idempotency-Key. ${checkForEmail} If the event does not exist, send the request under a new key.`,
  )

async function begin(
  { db, box, clock }: CreateDeps,
  { teamId, idempotency }: TeamRequester,
  { event }: Wanted,
  secretCode: string,
): Promise<number> {
  return db.write(async (trx) => {
    // An idempotency key expires after a day; the event at POAP does not.
    if (idempotency && (await findCreationOfKey(trx, idempotency))) throw mayBeThere()
    if (idempotency) await reserveIdempotencyKey(trx, idempotency, null)
    return insertCreation(trx, {
      teamId,
      name: event.name,
      fields: JSON.stringify(event),
      state: 'creating',
      keyScope: idempotency?.scope ?? null,
      key: idempotency?.key ?? null,
      createdAt: iso(clock.now()),
      seal: (id) => box.seal(Buffer.from(secretCode), creationContext(id)),
    })
  })
}

async function send(
  { db }: CreateDeps,
  poap: BadgeProvider,
  creation: number,
  { event, image }: Wanted,
  secretCode: string,
): Promise<CreateResult> {
  try {
    return await poap.create(event, image, secretCode)
  } catch (error) {
    // For example, the image could not be read to its end, so it is unknown what arrived.
    await db.write((trx) => leaveCreationUnknown(trx, creation))
    throw error
  }
}

async function forget({ db }: CreateDeps, { idempotency }: TeamRequester, creation: number): Promise<void> {
  await db.write(async (trx) => {
    await deleteCreation(trx, creation)
    if (idempotency) await forgetCreationKey(trx, idempotency)
  })
}

interface Finished extends Wanted {
  creation: number
  created: Created
  secretCode: string
}

async function finish(
  deps: CreateDeps,
  asking: TeamRequester,
  { creation, created, secretCode, event }: Finished,
): Promise<CreatedBadgeEvent> {
  const { db, box, clock, badges } = deps
  const id = await db.write(async (trx) => {
    const badgeEventId = await recordCreated(trx, clock, asking, { event, created, provider: 'poap' })
    await insertPoapEvent(trx, {
      badgeEventId,
      secretCode: box.seal(Buffer.from(secretCode), secretCodeContext(badgeEventId)),
      pollAt: iso(clock.now()),
    })
    if (asking.idempotency) await tieCreationKey(trx, asking.idempotency, badgeEventId)
    await deleteCreation(trx, creation)
    return badgeEventId
  })
  badges.wake()
  return { id, keepsImage: false, response: created.response }
}

const unavailable = (message: string, { retryAfterMs, reason }: Omit<Unavailable, 'kind'>) =>
  new DomainError('badge_unavailable', message, {
    retryAfterSeconds: Math.ceil(retryAfterMs / 1000),
    cause: new Error(reason),
  })
