import type { BadgeProvider, CreateResult, NewBadgeEvent, Unavailable } from '../../badges/provider.ts'
import { newSecretCode } from '../../badges/secret-code.ts'
import { claimIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import {
  creationPlace,
  deleteCreation,
  findCreationOfKey,
  forgetCreationKey,
  insertCreation,
  leaveCreationUnknown,
  tieCreationKey,
} from '../../store/badge-creations.ts'
import { insertPoapEvent, secretCodePlace } from '../../store/badge-upstream.ts'
import { DomainError } from '../errors.ts'
import { iso } from '../time.ts'
import type { ReceivedImage } from './image.ts'
import {
  type Asking,
  type CreateDeps,
  type Created,
  type CreatedBadgeEvent,
  recordCreated,
} from './record-created.ts'

interface Wanted {
  event: NewBadgeEvent
  image: ReceivedImage
}

/**
 * Creates an event at POAP. What is sent stands in the store before: POAP's events have a secret code that nobody
 * can ask for later, and a request that is repeated must not make a second one.
 * @throws DomainError badge_refused, badge_unavailable, conflict
 */
export async function createAtPoap(
  deps: CreateDeps,
  poap: BadgeProvider,
  asking: Asking,
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
      throw unavailable('The badge provider is out of reach. Nothing was created; try again.', result)
    case 'unknown': {
      await deps.db.write((trx) => leaveCreationUnknown(trx, creation))
      // Nobody is to try again by itself, and make a second one: clients do so where they wait for seconds alone.
      const retryAfterMs = Math.max(result.retryAfterMs, 60_000)
      throw unavailable(`The badge provider broke off before it answered. ${look}`, {
        ...result,
        retryAfterMs,
      })
    }
  }
}

const look =
  'The event may have been created there: before you try again, look whether its e-mail about the event has come.'

/** What a repetition is told of a request whose end nobody knows. */
export const mayBeThere = (): DomainError =>
  new DomainError(
    'conflict',
    `This request was sent to the badge provider before, and broke off before it was answered. It is not sent again under its Idempotency-Key. ${look} If there is no such event, send the request under a new key.`,
  )

async function begin(
  { db, box, clock }: CreateDeps,
  { teamId, idempotency }: Asking,
  { event }: Wanted,
  secretCode: string,
): Promise<number> {
  return db.write(async (trx) => {
    // A key is forgotten after a day, and what may be at POAP is not.
    if (idempotency && (await findCreationOfKey(trx, idempotency))) throw mayBeThere()
    if (idempotency) await claimIdempotencyKey(trx, idempotency, null)
    return insertCreation(trx, {
      teamId,
      name: event.name,
      fields: JSON.stringify(event),
      state: 'creating',
      keyScope: idempotency?.scope ?? null,
      key: idempotency?.key ?? null,
      createdAt: iso(clock.now()),
      seal: (id) => box.seal(Buffer.from(secretCode), creationPlace(id)),
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
    // An image that could not be read to its end, say: what arrived of it is not known.
    await db.write((trx) => leaveCreationUnknown(trx, creation))
    throw error
  }
}

async function forget({ db }: CreateDeps, { idempotency }: Asking, creation: number): Promise<void> {
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
  asking: Asking,
  { creation, created, secretCode, event }: Finished,
): Promise<CreatedBadgeEvent> {
  const { db, box, clock, badges } = deps
  const id = await db.write(async (trx) => {
    const badgeEventId = await recordCreated(trx, clock, asking, { event, created, provider: 'poap' })
    await insertPoapEvent(trx, {
      badgeEventId,
      secretCode: box.seal(Buffer.from(secretCode), secretCodePlace(badgeEventId)),
      pollAt: iso(clock.now()),
    })
    if (asking.idempotency) await tieCreationKey(trx, asking.idempotency, badgeEventId)
    await deleteCreation(trx, creation)
    return badgeEventId
  })
  badges.nudge()
  return { id, keepsImage: false, response: created.response }
}

const unavailable = (message: string, { retryAfterMs, reason }: Omit<Unavailable, 'kind'>) =>
  new DomainError('badge_unavailable', message, {
    retryAfterSeconds: Math.ceil(retryAfterMs / 1000),
    cause: new Error(reason),
  })
