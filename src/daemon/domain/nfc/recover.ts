import { ForeignKeys } from '../../../nfc/provision/errors.ts'
import { hasFactoryKeys, type Inspection } from '../../../nfc/provision/inspect.ts'
import { sourcesOn, targetFile } from '../../../nfc/provision/plan.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { existingLabels } from '../../store/chips/chip-registration.ts'
import { lacking, recordedAs } from '../access/grants.ts'
import { isMinting } from '../chips/chip-record.ts'
import { conflict, DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { assertMayWrite, chipKeys } from './chip-keys.ts'
import { inspectChip } from './chip-on-reader.ts'
import { executePlan, invalidateTaps, matchesPlan, readBackTap, type SetUpDeps } from './execute-plan.ts'
import { close, type Enrollment, type JournalEntry, resumeEntry } from './journal.ts'
import { assertOwnKeys, type KnownChip, knownChip } from './known-chip.ts'
import { isOwnKey, originalityOf, resultOf } from './provision.ts'
import { registerWithTap } from './registration.ts'
import type { CardSession, ChipRequest, NfcSession } from './session.ts'
import { ChipBusy } from './session-leases.ts'
import { isRowLeft } from './sheet-rows.ts'
import { suppliedIn } from './supplied-keys.ts'

/** Completes the plan of a chip that was lifted too early. If the plan is finished, only verifies the chip. */
export async function* recoverChip(deps: SetUpDeps, session: NfcSession, request: ChipRequest): CardSession {
  const { maxLc, originality, mayVouch, mayBind } = request
  const inspection = yield* inspectChip(deps, request)
  const { uid } = inspection
  session.uid = uid
  await session.lock({ uid })
  const known = await knownChip(deps.db.read, uid, session.actor)
  const { open, last } = known
  const entry = open ?? last
  const { ofTeam } = session.actor
  const isForeign = ofTeam !== undefined && (entry?.enrollment?.teamId ?? ofTeam) !== ofTeam
  if (!entry || isForeign) {
    throw new DomainError(
      'not_found',
      'No setup of this chip was started here, so there is nothing to recover. If another daemon started it, recover it there.',
    )
  }
  const { plan } = entry
  const { target } = plan
  if (target !== 'factory') {
    session.keySet = target.keySet
    session.url = targetFile(plan).url ?? ''
  }
  const keysOf = await chipKeys(
    { db: deps.db.read, box: deps.box },
    sourcesOn(plan, inspection.versions),
    suppliedIn(deps, entry),
  )
  if (!open) {
    // A finished plan must not change the chip any more.
    if (target === 'factory') {
      if (!hasFactoryKeys(inspection)) throw new ForeignKeys(inspection.versions)
      yield* readBackTap(plan, keysOf)
      return { status: 'factory', uid }
    }
    if (!(yield* matchesPlan({ ...plan, from: [] }, inspection, keysOf))) throw shownOther()
    return resultOf('provisioned', plan, target)
  }
  await assertMayWrite(deps, { plan, versions: inspection.versions }, { mayVouch, ...session.actor })
  if (target !== 'factory') originalityOf(plan, inspection, originality, open.enrollment)
  await assertOwnKeys(deps.db.read, known, plan, {
    ...session.actor,
    mayBind: mayBind || target === 'factory',
  })
  const begun = { ...open, enrollment: enrollmentFor(open, inspection, mayBind) }
  if (!known.row && begun.enrollment) await assertMayMint(deps, session.actor, begun.enrollment)
  const at = iso(deps.clock.now())
  await deps.db.write((trx) => resumeEntry(trx, session.actor, at, open, begun.enrollment))
  session.planId = open.id
  const { enrollment, warning } = await enrollmentLeft(deps, session, begun, known)
  const tap = yield* executePlan(deps, session.actor, { entry, isBegun: true }, inspection, {
    keysOf,
    maxLc,
  })
  await finish(deps, session, { ...open, enrollment }, tap)
  if (target === 'factory') return { status: 'factory', uid }
  return { ...resultOf('provisioned', plan, target), ...(warning === undefined ? {} : { warning }) }
}

/** Any chip can have the factory's key 0, or one that was supplied, so the current caller must be allowed to bind it. */
function enrollmentFor(
  { plan, enrollment }: JournalEntry,
  inspection: Inspection,
  mayBind: boolean,
): Enrollment | undefined {
  if (!enrollment) return undefined
  return { ...enrollment, mayBind: mayBind || (enrollment.mayBind && isOwnKey(plan, inspection)) }
}

/** @throws DomainError scope_missing */
async function assertMayMint(
  { db }: SetUpDeps,
  actor: Actor,
  { teamId, details: { item }, mayBind }: Enrollment,
): Promise<void> {
  if (mayBind || item === undefined || !(await isMinting(db.read, teamId, item))) return
  throw lacking(
    recordedAs(actor, actor.ofTeam),
    ['transfer'],
    `the chip would be bound to the item ${item}, whose tokens are minted for its chips, but it is still blank, so it may be anyone's`,
  )
}

/** A sheet row is for one chip: if another chip has received it since, this one gets none of it. */
async function enrollmentLeft(
  { db }: SetUpDeps,
  session: NfcSession,
  { plan: { uid }, enrollment }: JournalEntry,
  { row }: KnownChip,
): Promise<{ enrollment: Enrollment | undefined; warning?: string }> {
  if (!enrollment || row) return { enrollment }
  const { teamId, details, place } = enrollment
  const { label } = details
  const isLabelHeld = label !== undefined && (await isBeingGiven(session, { label, teamId }))
  const isRowGone = place !== undefined && !(await isRowLeft(db.read, session, place, uid))
  const [holder] = label === undefined ? [] : await existingLabels(db.read, teamId, [label])
  if (!isLabelHeld && !isRowGone && (!holder || holder.uid === uid)) return { enrollment }
  const to = holder && holder.uid !== uid ? `the chip ${holder.uid}` : 'another chip'
  const lost = label === undefined ? `row ${place?.row} of the sheet` : `label "${label}"`
  return {
    enrollment: { ...enrollment, details: {}, place: undefined },
    warning: `The ${lost} was given to ${to} in the meantime, so this one is registered without it, and without an item or a redirect URL. To give it a row of its own: tapchip chips remove ${uid}, then tapchip nfc provision`,
  }
}

async function isBeingGiven(session: NfcSession, held: { label: string; teamId: number }): Promise<boolean> {
  try {
    await session.lock(held)
    return false
  } catch (error) {
    if (error instanceof ChipBusy) return true
    throw error
  }
}

const shownOther = (): DomainError =>
  conflict(
    'The setup of this chip was finished, but it now shows another URL. To set it up again: nfc provision --rekey',
  )

async function finish(
  deps: SetUpDeps,
  { actor }: NfcSession,
  entry: JournalEntry,
  tap: Parameters<typeof registerWithTap>[3] | null,
): Promise<void> {
  const { plan, enrollment } = entry
  const { target } = plan
  if (tap && enrollment && target !== 'factory')
    await registerWithTap(deps, actor, { plan, target, enrollment }, tap)
  await close(deps, actor, entry, 'done', invalidateTaps(actor, plan))
}
