import type { Originality } from '../../../nfc/ntag424/originality.ts'
import { LrpChip, OtherTemplate } from '../../../nfc/provision/errors.ts'
import { assertOriginal, type Inspection } from '../../../nfc/provision/inspect.ts'
import type { LiveTap } from '../../../nfc/provision/live-tap.ts'
import {
  isKeySetSource,
  type KeySetSource,
  type Plan,
  sourcesAt,
  sourcesOf,
  targetFile,
} from '../../../nfc/provision/plan.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { Queries } from '../../store/database/database.ts'
import { ensureGroupIn, findGroup } from '../chips/chip-groups.ts'
import type { KeySet } from '../chips/key-ring.ts'
import { iso } from '../time/time.ts'
import { assertMayWrite, chipKeys } from './chip-keys.ts'
import { inspectChip } from './chip-on-reader.ts'
import { type Choice, choosePlan, next } from './choose-plan.ts'
import { type ChipSetup, detailsFor } from './details.ts'
import {
  executePlan,
  matchesPlan,
  proveSource,
  readBackTap,
  type SetUpDeps,
  type StoredPlan,
} from './execute-plan.ts'
import { close, type Enrollment, openEntry, resumeEntry } from './journal.ts'
import { assertOwnKeys, type KnownChip, knownChip } from './known-chip.ts'
import {
  assertNewKeys,
  assertRegistrable,
  type EnrollmentRequest,
  hasTamperMode,
  isRegisteredWith,
  registerWithTap,
} from './registration.ts'
import type { CardSession, ChipDetails, ChipRequest, NfcSession, ReadyChip, Reply, Step } from './session.ts'
import { takeRow } from './sheet-rows.ts'
import { showSheet } from './sheet-runs.ts'
import { proveSupplied, sealSupplied, suppliedIn } from './supplied-keys.ts'
import { contentFor, type RequestedContent } from './url-content.ts'

interface ProvisionRequest extends ChipRequest {
  readonly teamId: number
  /** A name, or the ID of an existing group. */
  readonly chipGroup: string
  readonly set: KeySet
  readonly rekey: boolean
  readonly content: RequestedContent
  /** undefined: ask once the chip is known. */
  readonly details: ChipDetails | undefined
  /** The sheet run that provides the details; it also asks for them. */
  readonly sheetRun: number | undefined
}

export async function* provision(
  deps: SetUpDeps,
  session: NfcSession,
  request: ProvisionRequest,
): CardSession {
  const inspection = yield* inspectChip(deps, request)
  const { uid } = inspection
  session.uid = uid
  const { details, rekey, place } = yield* detailsFor(deps, session, request, inspection)
  await session.lock({ uid })
  const job = { details, rekey, place }
  try {
    return yield* setUp(deps, session, request, job, inspection)
  } catch (error) {
    // Told only by opening a session, before anything was written.
    if (!(error instanceof LrpChip) || inspection.isLrp) throw error
    return yield* setUp(deps, session, request, job, { ...inspection, isLrp: true })
  }
}

async function* setUp(
  deps: SetUpDeps,
  session: NfcSession,
  request: ProvisionRequest,
  { details, rekey, place }: ChipSetup,
  seen: Inspection,
): SetUpScript {
  const { teamId, chipGroup, set, mayVouch, mayBind } = request
  const { uid } = seen
  const known = await knownChip(deps.db.read, uid, session.actor)
  const content = yield* contentFor(request, known, seen, rekey)
  const proven = yield* proveSupplied(deps, seen, known, request.supplied)
  const inspection = proven?.session.isLrp ? { ...seen, isLrp: true } : seen
  const planRequest = { set, baseUrl: deps.baseUrl, rekey, mayVouch, proven, content }
  let choice = choosePlan(inspection, known, planRequest)
  if (choice.kind === 'prove') {
    const source = yield* proveSource(deps, inspection)
    choice = { kind: 'write', ...next(inspection, known, planRequest, [source]), replaces: undefined }
  }
  const plan = choice.kind === 'recover' ? choice.entry.plan : choice.plan
  const { target } = choice
  const originality = originalityOf(plan, inspection, request.originality, known.open?.enrollment)
  await assertOwnKeys(deps.db.read, known, plan, { ...session.actor, mayBind })
  if (choice.kind !== 'verify')
    await assertMayWrite(deps, { plan, versions: inspection.versions }, { mayVouch, ...session.actor })
  const url = targetFile(plan).url ?? ''
  session.keySet = set.id
  session.url = url
  const enrollment: EnrollmentRequest = {
    teamId,
    group: await findGroup(deps.db.read, teamId, chipGroup),
    name: chipGroup,
    details,
    mayBind,
    originality,
    place,
  }
  if (details.label !== undefined) await session.lock({ label: details.label, teamId })
  const mayMove = rekey || choice.kind === 'recover'
  await assertRegistrable(deps, enrollment, { uid, keySet: set.id, mayMove, row: known.row })
  const supplied = proven?.keys ?? suppliedIn(deps, known.open)
  const job = { plan, target, inspection, known, enrollment, supplied, maxLc: request.maxLc }
  const result =
    choice.kind === 'verify'
      ? yield* verify(deps, session.actor, job)
      : yield* write(deps, session, choice, job)
  if (!place) return result
  const { rows, taken } = await showSheet(deps, place.run)
  return { ...result, row: place.row, sheet: { rows, taken } }
}

/**
 * Anyone can get a chip with the factory's key 0, or supply the keys of one, and copy a UID whose plan is open; keys of
 * this daemon prove a chip by themselves.
 * @param required the kind that the caller accepts, as did whoever made the open plan @throws NotGenuine
 */
export const originalityOf = (
  plan: Plan,
  inspection: Inspection,
  required: Originality,
  open: Enrollment | undefined,
): Originality | undefined => {
  if (isOwnKey(plan, inspection)) return open?.originality
  return assertOriginal(inspection, [required, open?.originality ?? 'genuine'])
}

/** True if the chip's key 0 is from a key set. */
export const isOwnKey = (plan: Plan, { versions }: Inspection): boolean =>
  versions[0] !== 0 && sourcesAt(plan, 0, versions).every(isKeySetSource)

type SetUpScript = AsyncGenerator<Step, ReadyChip, Reply>

interface Job {
  readonly plan: Plan
  readonly target: KeySetSource
  readonly inspection: Inspection
  readonly known: KnownChip
  readonly enrollment: EnrollmentRequest
  /** Keys 0 to 4 from the chip's owner, if the plan starts from such. */
  readonly supplied: readonly Buffer[] | undefined
  readonly maxLc: number | undefined
}

/** A chip with keys must already match the plan, or is refused. */
async function* verify(
  deps: SetUpDeps,
  actor: Actor,
  { plan, target, inspection, known, enrollment }: Job,
): SetUpScript {
  const keysOf = await chipKeys({ db: deps.db.read, box: deps.box }, [target])
  let shown: LiveTap | null = null
  const onTap = (tap: LiveTap): void => {
    shown = tap
  }
  if (!(yield* matchesPlan(plan, inspection, keysOf, onTap))) throw new OtherTemplate()
  if (isRegisteredWith(known.row, target) && hasTamperMode(known.row, plan)) {
    const { place } = enrollment
    if (place) await deps.db.write((trx) => takeRow(trx, place, plan.uid, iso(deps.clock.now())))
    return withWarning(resultOf('unchanged', plan, target), shown)
  }
  const tap = yield* readBackTap(plan, keysOf)
  const made = await deps.db.write((trx) => groupOf(trx, actor, enrollment, iso(deps.clock.now())))
  return finish(deps, actor, { plan, target, enrollment: made }, tap)
}

async function* write(
  deps: SetUpDeps,
  session: NfcSession,
  choice: Exclude<Choice, { kind: 'verify' | 'prove' }>,
  { plan, target, inspection, known, enrollment: request, supplied, maxLc }: Job,
): SetUpScript {
  const { actor } = session
  const keysOf = await chipKeys({ db: deps.db.read, box: deps.box }, sourcesOf(plan), supplied)
  if (choice.kind === 'write') await assertNewKeys(deps, keysOf, { plan, target }, known.row, supplied)
  const at = iso(deps.clock.now())
  // Committed before the chip is touched, so that its setup can be completed after any failure.
  const written = await deps.db.write(async (trx): Promise<StoredPlan & { enrollment: Enrollment }> => {
    const enrollment = await groupOf(trx, actor, request, at)
    if (choice.kind === 'recover') {
      await resumeEntry(trx, actor, at, choice.entry, enrollment)
      return { entry: { ...choice.entry, enrollment }, isBegun: true, enrollment }
    }
    const { replaces } = choice
    const suppliedKeys = supplied && sealSupplied(deps, plan.uid, supplied)
    const id = await openEntry(trx, actor, at, { plan, enrollment, replaces, suppliedKeys })
    return { entry: { id, plan, enrollment }, isBegun: replaces !== undefined, enrollment }
  })
  session.planId = written.entry.id
  const tap = yield* executePlan(deps, actor, written, inspection, { keysOf, maxLc })
  const ended = await finish(deps, actor, { plan, target, enrollment: written.enrollment }, tap)
  await close(deps, actor, written.entry, 'done')
  return ended
}

async function finish(
  deps: SetUpDeps,
  actor: Actor,
  keyed: { plan: Plan; target: KeySetSource; enrollment: Enrollment },
  tap: LiveTap | null,
): Promise<ReadyChip> {
  if (tap) await registerWithTap(deps, actor, keyed, tap)
  return withWarning(resultOf('provisioned', keyed.plan, keyed.target), tap)
}

const withWarning = (result: ReadyChip, tap: Pick<LiveTap, 'status'> | null): ReadyChip =>
  tap?.status?.includes('O') ? { ...result, warning: loopIsOpen } : result

const loopIsOpen =
  'The loop of this chip is open, or was once, which the chip never forgets. If it is meant to seal something, use another one.'

export const resultOf = (
  status: 'provisioned' | 'unchanged',
  plan: Plan,
  { keySet }: KeySetSource,
): ReadyChip => ({ status, uid: plan.uid, keySet, url: targetFile(plan).url ?? '' })

async function groupOf(
  trx: Queries,
  actor: Actor,
  { teamId, name, details, mayBind, originality, place }: EnrollmentRequest,
  at: string,
): Promise<Enrollment> {
  const { id: chipGroupId } = await ensureGroupIn(trx, { teamId, actor, at }, name)
  return { teamId, chipGroupId, details, mayBind, originality, place }
}
