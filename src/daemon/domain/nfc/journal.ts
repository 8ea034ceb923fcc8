import type { Originality } from '../../../nfc/ntag424/originality.ts'
import { isKeySetSource, type Plan, parsePlan, sourcesOf } from '../../../nfc/provision/plan.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findChips } from '../../store/chips/chips.ts'
import { findKeySet } from '../../store/chips/key-sets.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { closeNfcPlan, insertNfcPlan, nfcPlansOf, updateNfcPlan } from '../../store/nfc/nfc-plans.ts'
import type { NfcPlanRow } from '../../store/schema/schema.ts'
import { conflict, type DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { missingKeySet } from './chip-keys.ts'
import type { ChipDetails } from './session.ts'
import type { SheetPlace } from './session-leases.ts'

/** The chip's place in the registry after its setup. */
export interface Enrollment {
  readonly teamId: number
  readonly chipGroupId: number
  readonly details: ChipDetails
  /** The planner may bind chips to items whose tokens are minted. */
  readonly mayBind: boolean
  /** The origin that the chip's signature proves; whoever made the plan accepts such chips. */
  readonly originality?: Originality | undefined
  /** The sheet row with the details. */
  readonly place?: SheetPlace | undefined
}

/** A stored plan. */
export interface JournalEntry {
  readonly id: number
  readonly plan: Plan
  /** undefined for a reset. */
  readonly enrollment: Enrollment | undefined
  readonly outcome: NfcPlanRow['outcome']
  readonly row: NfcPlanRow
}

type Deps = { db: Db; clock: Clock }

export const entryOf = (row: NfcPlanRow): JournalEntry => ({
  id: row.id,
  plan: parsePlan(JSON.parse(row.plan)),
  enrollment: row.registration === null ? undefined : enrollmentOf(JSON.parse(row.registration)),
  outcome: row.outcome,
  row,
})

/** Written by this daemon. Plans older than `mayBind` were made by callers who had that right. */
const enrollmentOf = ({
  teamId,
  chipGroupId,
  details,
  mayBind = true,
  originality,
  place,
}: Enrollment): Enrollment => ({
  teamId,
  chipGroupId,
  details,
  mayBind,
  originality,
  place,
})

/** All plans of a chip, oldest first. */
export const entriesOf = async (db: Queries, uid: string): Promise<JournalEntry[]> =>
  (await nfcPlansOf(db, uid)).map(entryOf)

interface NewEntry {
  readonly plan: Plan
  readonly enrollment: Enrollment | undefined
  /** The open entry from whose sources this plan starts; closed in the same write. */
  readonly replaces: number | undefined
  /** The encrypted keys of a plan that starts from supplied ones. */
  readonly suppliedKeys?: Uint8Array | null | undefined
}

/** Stores a plan; the chip may be written to only after the commit. */
export async function openEntry(
  trx: Queries,
  actor: Actor,
  at: string,
  { plan, enrollment, replaces, suppliedKeys = null }: NewEntry,
): Promise<number> {
  for (const source of sourcesOf(plan))
    if (isKeySetSource(source) && !(await findKeySet(trx, source.keySet))) throw missingKeySet(source.keySet)
  if (replaces !== undefined) {
    const end = { closedAt: at, closedBy: actor.name, outcome: 'superseded' } as const
    if (!(await closeNfcPlan(trx, replaces, end))) throw changedMeanwhile()
  } else if ((await nfcPlansOf(trx, plan.uid)).some(({ closedAt }) => closedAt === null)) {
    throw changedMeanwhile()
  }
  const purpose = plan.target === 'factory' ? 'reset' : 'provision'
  const id = await insertNfcPlan(trx, {
    uid: plan.uid,
    purpose,
    plan: JSON.stringify(plan),
    registration: enrollment === undefined ? null : JSON.stringify(enrollment),
    suppliedKeys,
    openedAt: at,
    openedBy: actor.name,
    problem: null,
    closedAt: null,
    closedBy: null,
    outcome: null,
  })
  await record(trx, actor, at, { plan, enrollment, id, phase: 'started' })
  return id
}

const changedMeanwhile = (): DomainError =>
  conflict('Another session has made a plan for this chip. Put it on the reader again.')

/** Closes an entry, once. @param also runs in the same write */
export async function close(
  { db, clock }: Deps,
  actor: Actor,
  { id, plan, enrollment }: Pick<JournalEntry, 'id' | 'plan' | 'enrollment'>,
  outcome: 'done' | 'untouched',
  also?: (trx: Queries, at: string) => Promise<void>,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    if (!(await closeNfcPlan(trx, id, { closedAt: at, closedBy: actor.name, outcome }))) return
    await also?.(trx, at)
    await record(trx, actor, at, { plan, enrollment, id, phase: outcome === 'done' ? 'finished' : 'refused' })
  })
}

/** Records why an attempt failed, if its entry is still open. */
export async function recordProblem(
  { db, clock }: Deps,
  actor: Actor,
  { id, uid }: { id: number; uid: string },
  problem: string,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    await updateNfcPlan(trx, id, { problem })
    const entry = (await entriesOf(trx, uid)).find((one) => one.id === id)
    await recordChange(trx, {
      at,
      actor,
      teamId: (await teamOf(trx, uid, entry?.enrollment)) ?? null,
      action: 'nfc.stopped',
      target: uid,
      detail: { plan: id, problem },
    })
  })
}

/** Resumes an open entry, possibly with another enrollment. */
export async function resumeEntry(
  trx: Queries,
  actor: Actor,
  at: string,
  { id, plan }: Pick<JournalEntry, 'id' | 'plan'>,
  enrollment: Enrollment | undefined,
): Promise<void> {
  if (enrollment) await updateNfcPlan(trx, id, { registration: JSON.stringify(enrollment) })
  await record(trx, actor, at, { plan, enrollment, id, phase: 'resumed' })
}

async function record(
  trx: Queries,
  actor: Actor,
  at: string,
  {
    plan: { uid, target, from },
    enrollment,
    id,
    phase,
  }: Pick<JournalEntry, 'id' | 'plan' | 'enrollment'> & { phase: string },
): Promise<unknown> {
  const action = target === 'factory' ? 'nfc.reset' : 'nfc.provision'
  const about = target === 'factory' ? {} : { keySet: target.keySet, generation: target.generation }
  const detail = {
    phase,
    plan: id,
    from,
    ...about,
    ...(enrollment ? { chipGroup: enrollment.chipGroupId } : {}),
    ...(enrollment?.originality === 'any' ? { isUnsigned: true } : {}),
  }
  const teamId = (await teamOf(trx, uid, enrollment)) ?? null
  return recordChange(trx, { at, actor, teamId, action, target: uid, detail })
}

/** The plan of a reset names no team. */
export const teamOf = async (
  db: Queries,
  uid: string,
  enrollment: Enrollment | undefined,
): Promise<number | undefined> => enrollment?.teamId ?? (await findChips(db, [uid]))[0]?.teamId
