import { dayProblems } from '../../badges/dates.ts'
import {
  type BadgeImage,
  type BadgeProvider,
  type NewBadgeEvent,
  newSecretCode,
  type Unavailable,
} from '../../badges/provider.ts'
import { reserveIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import { forgetContent, linkContent } from '../../store/badge-events/badge-contents.ts'
import { insertImage } from '../../store/badge-events/badge-events.ts'
import {
  creationContext,
  deleteCreation,
  findCreationOfKey,
  forgetCreationKey,
  insertCreation,
  insertPoapEvent,
  linkCreationKey,
  secretCodeContext,
} from '../../store/badge-events/badge-upstream.ts'
import { DomainError, invalid } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import {
  type CreateDeps,
  type Created,
  type CreatedBadgeEvent,
  checkEmailAdvice,
  claim,
  contentOf,
  createdBefore,
  type EventRequest,
  possibleDuplicate,
  recordCreated,
  type TeamRequester,
} from './record-created.ts'

export { type CreatedBadgeEvent, contentHash, createdBefore } from './record-created.ts'

/** @throws DomainError invalid_input (days, codes), badge_refused, badge_unavailable, conflict */
export async function createBadgeEvent(
  deps: CreateDeps,
  requester: TeamRequester,
  request: EventRequest,
): Promise<CreatedBadgeEvent> {
  const { event, image } = request
  const provider = deps.badges.providers.current
  assertSound(event, provider.name === 'poap')
  if (provider.name === 'poap') return createAtPoap(deps, provider, requester, request)
  const created = await provider.create(event, image, '')
  if (created.kind !== 'created') throw new Error('the embedded provider takes every event')
  const data = await inOnePiece(image)
  const { id, known } = await deps.db.write(async (trx) => {
    const known = await claim(trx, requester, request)
    if (known !== undefined) return { id: known, known }
    const badgeEventId = await recordCreated(trx, deps.clock, requester, {
      event,
      created,
      provider: provider.name,
    })
    await insertImage(trx, { badgeEventId, file: image.file, type: image.type, data })
    await linkContent(trx, contentOf(requester, request), badgeEventId)
    if (requester.idempotency) await reserveIdempotencyKey(trx, requester.idempotency, badgeEventId)
    return { id: badgeEventId, known: undefined }
  })
  if (known !== undefined) return { ...(await createdBefore(deps, known)), isUnchanged: true }
  deps.badges.wake()
  return { id, keepsImage: true, response: created.response }
}

/** Fills one preallocated buffer: concatenating chunks would take twice the memory. */
async function inOnePiece({ size, bytes }: BadgeImage): Promise<Buffer> {
  const piece = Buffer.allocUnsafe(size)
  let at = 0
  for await (const chunk of bytes()) {
    piece.set(chunk, at)
    at += chunk.length
  }
  return piece.subarray(0, at)
}

/** @throws DomainError invalid_input */
export function assertSound(event: NewBadgeEvent, isForPoap: boolean): void {
  const problems = dayProblems(event)
  if (problems.length > 0) {
    const errors = Object.fromEntries(problems.map(({ field, message }) => [field, message]))
    const text = problems.map(({ field, message }) => `${field} ${message}`).join('; ')
    throw new DomainError('invalid_input', text, { errors })
  }
  if (!isForPoap) return
  if (event.maxPerRecipient > 1)
    throw invalid('maxPerRecipient', 'must be 1 at POAP, which gives each recipient one badge')
  if (event.requestedCodes < 1) throw invalid('requestedCodes', 'must be at least 1 at POAP')
  if (event.requestedCodes > 50_000) throw invalid('requestedCodes', 'must be at most 50000 at POAP')
}

/**
 * Creates an event at POAP. The request is stored before it is sent: the event's secret code cannot be retrieved
 * later, and a repeated request must not create a second event. @throws DomainError badge_refused,
 * badge_unavailable, conflict
 */
async function createAtPoap(
  deps: CreateDeps,
  poap: BadgeProvider,
  requester: TeamRequester,
  request: EventRequest,
): Promise<CreatedBadgeEvent> {
  const secretCode = newSecretCode()
  const { creation, known } = await begin(deps, requester, request, secretCode)
  if (known !== undefined) return { ...(await createdBefore(deps, known)), isUnchanged: true }
  requester.recorded?.()
  const result = await poap.create(request.event, request.image, secretCode)
  switch (result.kind) {
    case 'created':
      return finish(deps, requester, { creation, created: result, secretCode, ...request })
    case 'refused':
      await forget(deps, requester, request, creation)
      throw new DomainError('badge_refused', result.message)
    case 'unavailable':
      await forget(deps, requester, request, creation)
      throw unavailable('The badge provider cannot be reached. Nothing was created; try again.', result)
    case 'unknown': {
      // Clients retry automatically after short delays, which could create a second event.
      const retryAfterMs = Math.max(result.retryAfterMs, 60_000)
      throw unavailable(
        `The connection to the badge provider broke before it answered. ${checkEmailAdvice}`,
        {
          ...result,
          retryAfterMs,
        },
      )
    }
  }
}

async function begin(
  { db, box, clock }: CreateDeps,
  requester: TeamRequester,
  request: EventRequest,
  secretCode: string,
): Promise<{ creation: number; known?: undefined } | { creation?: undefined; known: number }> {
  const { teamId, idempotency } = requester
  const { event } = request
  return db.write(async (trx) => {
    // An idempotency key expires after a day; the event at POAP does not.
    if (idempotency && (await findCreationOfKey(trx, idempotency))) throw possibleDuplicate()
    const known = await claim(trx, requester, request)
    if (known !== undefined) return { known }
    if (idempotency) await reserveIdempotencyKey(trx, idempotency, null)
    const creation = await insertCreation(trx, {
      teamId,
      name: event.name,
      fields: JSON.stringify(event),
      keyScope: idempotency?.scope ?? null,
      key: idempotency?.key ?? null,
      createdAt: iso(clock.now()),
      seal: (id) => box.seal(Buffer.from(secretCode), creationContext(id)),
    })
    return { creation }
  })
}

async function forget(
  { db }: CreateDeps,
  requester: TeamRequester,
  request: EventRequest,
  creation: number,
): Promise<void> {
  const { idempotency } = requester
  await db.write(async (trx) => {
    await deleteCreation(trx, creation)
    if (request.content.isOnce) await forgetContent(trx, contentOf(requester, request))
    if (idempotency) await forgetCreationKey(trx, idempotency)
  })
}

interface CompletedCreation extends EventRequest {
  creation: number
  created: Created
  secretCode: string
}

async function finish(
  deps: CreateDeps,
  requester: TeamRequester,
  { creation, created, secretCode, ...request }: CompletedCreation,
): Promise<CreatedBadgeEvent> {
  const { db, box, clock, badges } = deps
  const { event } = request
  const id = await db.write(async (trx) => {
    const badgeEventId = await recordCreated(trx, clock, requester, { event, created, provider: 'poap' })
    await insertPoapEvent(trx, {
      badgeEventId,
      secretCode: box.seal(Buffer.from(secretCode), secretCodeContext(badgeEventId)),
      pollAt: iso(clock.now()),
      imageUrl: created.response.image_url,
    })
    await linkContent(trx, contentOf(requester, request), badgeEventId)
    if (requester.idempotency) await linkCreationKey(trx, requester.idempotency, badgeEventId)
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
