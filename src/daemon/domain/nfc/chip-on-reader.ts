import { randomBytes } from 'node:crypto'
import { KEY_NUMBERS } from '../../../nfc/ntag424/layout.ts'
import { ForeignKeys, WrongKeys } from '../../../nfc/provision/errors.ts'
import {
  type AnonymousInspection,
  type Inspection,
  inspect,
  RandomIdChip,
} from '../../../nfc/provision/inspect.ts'
import { keyFrom, parsePlan, sourcesAt } from '../../../nfc/provision/plan.ts'
import { identify } from '../../../nfc/provision/prove-keys.ts'
import { tapFits } from '../../../nfc/provision/tap-fits.ts'
import { uidFromBytes, uidToBytes } from '../../../nfc/uid.ts'
import { openNfcPlans } from '../../store/nfc/nfc-plans.ts'
import { conflict } from '../errors/errors.ts'
import { chipKeys } from './chip-keys.ts'
import { type SetUpDeps, setsShown } from './execute-plan.ts'
import { knownChip } from './known-chip.ts'
import { type ChipRequest, type Reply, runScript, type Step } from './session.ts'
import { keysToTry, suppliedIn } from './supplied-keys.ts'

type Part<R> = AsyncGenerator<Step, R, Reply>

/** Each unfinished plan of a chip with a random UID may cost such a chip a failed authentication. */
const maxPlansTried = 3

/** @throws RandomIdChip, WrongKeys; DomainError conflict for another chip than the one requested */
export async function* inspectChip(
  deps: SetUpDeps,
  { atr, uid, supplied }: Pick<ChipRequest, 'atr' | 'uid' | 'supplied'>,
): Part<Inspection> {
  const inspection = yield* inspected(deps, atr, supplied)
  if (uid === undefined || inspection.uid === uid) return inspection
  throw conflict(
    `The chip on the reader is ${inspection.uid}, not ${uid}. It was not changed. Put the right chip on the reader.`,
  )
}

async function* inspected(
  deps: SetUpDeps,
  atr: Uint8Array | undefined,
  supplied: ChipRequest['supplied'],
): Part<Inspection> {
  try {
    return yield* runScript(inspect(atr), 'inspect')
  } catch (error) {
    if (!(error instanceof RandomIdChip)) throw error
    return yield* identified(deps, error.seen, supplied)
  }
}

/** Finds the UID of a chip that shows a random one: under a key that it may have, or by its tap. */
async function* identified(
  deps: SetUpDeps,
  seen: AnonymousInspection,
  supplied: ChipRequest['supplied'],
): Part<Inspection> {
  const shown = yield* uidShown(deps)
  const ofPlans = await keysOfPlans(deps, seen, shown)
  // A key that only this chip has proves it without its signature.
  if (shown !== undefined && ofPlans.length === 0 && seen.versions[0] !== 0)
    return { ...seen, uid: shown, signature: undefined }
  if (supplied.length > 0 && shown === undefined) {
    const options = KEY_NUMBERS.map((keyNo) => keysToTry(seen, keyNo, supplied))
    if ((yield* runScript(tapFits({ ...seen, uid: undefined }, options), 'inspect')) === false)
      throw new WrongKeys('its tap was made with others, so none was tried', 'Look for the file of this chip')
  }
  const keys = keysToTry(seen, 0, supplied, ofPlans)
  if (keys.length === 0) throw new RandomIdChip(seen)
  try {
    const { uid, signature } = yield* runScript(identify(seen.versions, keys, randomBytes), 'inspect')
    return { ...seen, uid: uidFromBytes(uid), signature }
  } catch (error) {
    throw error instanceof ForeignKeys ? new RandomIdChip(seen, { cause: error }) : error
  }
}

/** The UID in the tap of a chip that this daemon knows. */
async function* uidShown(deps: SetUpDeps): Part<string | undefined> {
  for (const { uid } of yield* setsShown(deps)) {
    if (uid === undefined) continue
    const { row, open, last } = await knownChip(deps.db.read, uid)
    if (row || open || last) return uid
  }
  return undefined
}

/** Keys 0 from the newest unfinished plans of chips with a random UID that fit this one. */
async function keysOfPlans(
  deps: SetUpDeps,
  { versions }: AnonymousInspection,
  uid: string | undefined,
): Promise<Buffer[]> {
  const keys: Buffer[] = []
  for (const row of (await openNfcPlans(deps.db.read)).reverse()) {
    const plan = parsePlan(JSON.parse(row.plan))
    if (!plan.randomId || plan.uid !== (uid ?? plan.uid) || keys.length >= maxPlansTried) continue
    const sources = sourcesAt(plan, 0, versions).filter((source) => source !== 'factory')
    const keysOf = await chipKeys({ db: deps.db.read, box: deps.box }, sources, suppliedIn(deps, { row }))
    keys.push(...sources.map((source) => keyFrom(source, 0, uidToBytes(plan.uid), keysOf)))
  }
  return keys
}
