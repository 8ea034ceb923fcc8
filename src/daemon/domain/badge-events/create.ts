import { creationResponse } from '../../badges/creation-response.ts'
import { dayProblems } from '../../badges/dates.ts'
import type { CreateResult, CreationResponse, NewBadgeEvent } from '../../badges/provider.ts'
import { newSecretCode } from '../../badges/secret-code.ts'
import { type Claim, claimIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import { findBadgeEvent, insertBadgeEvent } from '../../store/badge-events.ts'
import { insertImage } from '../../store/badge-images.ts'
import { insertPoapEvent, isPoapEvent, secretCodePlace } from '../../store/badge-upstream.ts'
import type { Db, Queries } from '../../store/database.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import { DomainError, invalid, notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import type { ReceivedImage } from './image.ts'
import type { Providers } from './providers.ts'

interface Deps {
  db: Db
  box: SecretBox
  clock: Clock
  badges: { providers: Providers; nudge(): void }
}

interface Asking {
  teamId: number
  actor: Actor
  idempotency: Claim | undefined
}

export interface CreatedBadgeEvent {
  id: number
  /** Whether the image is served here. */
  keepsImage: boolean
  response: CreationResponse
}

/**
 * Creates a badge event at the provider, and keeps it for its team.
 * @throws DomainError invalid_input (days, codes), badge_refused, badge_unavailable
 */
export async function createBadgeEvent(
  deps: Deps,
  asking: Asking,
  event: NewBadgeEvent,
  image: ReceivedImage,
): Promise<CreatedBadgeEvent> {
  const provider = deps.badges.providers.current
  assertSound(event, provider.name === 'poap')
  const secretCode = newSecretCode()
  const created = createdOr(await provider.create(event, image, secretCode))
  const id = await deps.db.write(async (trx) => {
    const badgeEventId = await insertBadgeEvent(trx, rowOf(event, asking.teamId, created, deps.clock))
    if (provider.name === 'embedded')
      await insertImage(trx, { badgeEventId, file: image.file, type: image.type })
    else await keepSecret(trx, deps, badgeEventId, secretCode)
    if (asking.idempotency) await claimIdempotencyKey(trx, asking.idempotency, badgeEventId, deps.clock.now())
    await recordChange(trx, {
      at: iso(deps.clock.now()),
      actor: asking.actor,
      teamId: asking.teamId,
      action: 'badge-events.create',
      target: String(badgeEventId),
      detail: { name: event.name, provider: provider.name, upstreamId: created.upstreamId },
    })
    return badgeEventId
  })
  deps.badges.nudge()
  return { id, keepsImage: provider.name === 'embedded', response: created.response }
}

/** What creating an event was answered with, of one that is there. @throws DomainError not_found */
export async function createdBefore(
  { db }: { db: Pick<Db, 'read'> },
  id: number,
): Promise<CreatedBadgeEvent> {
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

type Created = Extract<CreateResult, { kind: 'created' }>

function createdOr(result: CreateResult): Created {
  switch (result.kind) {
    case 'created':
      return result
    case 'refused':
      throw new DomainError('badge_refused', result.message)
    case 'unavailable':
      throw unavailable('The badge provider is out of reach. Nothing was created; try again.', result)
    case 'unknown':
      // Nobody is to try again by itself, and make a second one: clients do so where they wait for seconds alone.
      throw unavailable(
        'The badge provider broke off before it answered, so the event may have been created there: before you try again, look whether its e-mail about the event has come.',
        { ...result, retryAfterMs: Math.max(result.retryAfterMs, 60_000) },
      )
  }
}

const unavailable = (message: string, { retryAfterMs, reason }: { retryAfterMs: number; reason: string }) =>
  new DomainError('badge_unavailable', message, {
    retryAfterSeconds: Math.ceil(retryAfterMs / 1000),
    cause: new Error(reason),
  })

function rowOf(event: NewBadgeEvent, teamId: number, { upstreamId, approval }: Created, clock: Clock) {
  return {
    name: event.name,
    description: event.description,
    city: event.city,
    country: event.country,
    startDate: event.startDate,
    endDate: event.endDate,
    expiryDate: event.expiryDate,
    eventUrl: event.eventUrl,
    privateEvent: Number(event.privateEvent),
    virtualEvent: Number(event.virtualEvent),
    requestedCodes: event.requestedCodes,
    remainingCodes: approval === 'approved' ? event.requestedCodes : 0,
    teamId,
    upstreamId,
    approval,
    createdAt: iso(clock.now()),
  }
}

async function keepSecret(trx: Queries, { box, clock }: Deps, badgeEventId: number, secretCode: string) {
  await insertPoapEvent(trx, {
    badgeEventId,
    secretCode: box.seal(Buffer.from(secretCode), secretCodePlace(badgeEventId)),
    pollAt: iso(clock.now()),
  })
}
