import { AesKey } from '../../../nfc/ntag424/cmac.ts'
import { queryOf } from '../../../nfc/ntag424/template/match.ts'
import type { LiveTap } from '../../../nfc/provision/live-tap.ts'
import { type KeySetSource, type KeysOf, keyFrom, type Plan } from '../../../nfc/provision/plan.ts'
import { uidToBytes } from '../../../nfc/uid.ts'
import { maxCounter } from '../../../values/chip-columns.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findChipGroup } from '../../store/chips/chip-groups.ts'
import { rememberedOf, saveTombstone } from '../../store/chips/chip-records.ts'
import { findChips, updateChip } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ChipGroupRow, ChipRow } from '../../store/schema/schema.ts'
import { assertTeamIn } from '../access/teams.ts'
import { ensureChipGroupIn } from '../chips/chip-groups.ts'
import type { KeyRing } from '../chips/key-ring.ts'
import { type RegisterDeps, type Registration, registerChipsIn } from '../chips/register-chips.ts'
import { withRollback } from '../dry-run/dry-run.ts'
import { conflict } from '../errors/errors.ts'
import { type TakeTapDeps, takeTap } from '../taps/take-tap.ts'
import { iso } from '../time/time.ts'
import type { Enrollment } from './journal.ts'
import type { SheetPlace } from './session-leases.ts'
import { takeRow } from './sheet-rows.ts'

export type RegistrationDeps = RegisterDeps & TakeTapDeps & { db: Db }

export interface EnrollmentRequest {
  readonly teamId: number
  /** undefined: still to be created by name. */
  readonly group: ChipGroupRow | undefined
  readonly name: string
  readonly details: Enrollment['details']
  readonly mayBind: boolean
  readonly originality: Enrollment['originality']
  readonly place: SheetPlace | undefined
}

/** A chip with its keys, present or future. */
interface KeyedPlan {
  readonly plan: Plan
  readonly target: KeySetSource
  readonly enrollment: Enrollment
}

/** Registers the chip and rolls back, before it is touched. @throws DomainError conflict with the reason */
export async function assertRegistrable(
  deps: RegistrationDeps,
  { teamId, group, name, details, mayBind }: EnrollmentRequest,
  chip: { uid: string; keySet: number; mayMove: boolean; row: ChipRow | undefined },
): Promise<void> {
  const { uid, row, mayMove } = chip
  if (row && row.disabledAt !== null)
    throw conflict('The chip is disabled. Enable it first: tapchip chips enable')
  // With --rekey, a chip may come from another key set; everything else must match the request.
  const keySetId = row && mayMove ? row.keySetId : chip.keySet
  const at = iso(deps.clock.now())
  const [result] = await withRollback(deps.db, async (trx) => {
    const { id } = group ?? (await ensureChipGroupIn(trx, { teamId, name, at }))
    const registration = { teamId, chipGroupId: id, keySetId, isSimulated: false, mayBind, at }
    return registerChipsIn(trx, deps, registration, [{ ...details, uid }])
  })
  if (result?.status === 'failed') throw conflict(asSentence(result.error))
}

/** A row's problem begins with the column. */
const asSentence = (problem: string): string => problem.charAt(0).toUpperCase() + problem.slice(1)

/** New keys that equal older ones would make old taps valid again. @throws DomainError conflict */
export async function assertNewKeys(
  { db, keyRing }: { db: Pick<Db, 'read'>; keyRing: KeyRing },
  keysOf: KeysOf,
  { plan: { uid }, target }: Pick<KeyedPlan, 'plan' | 'target'>,
  row: ChipRow | undefined,
  supplied: readonly Buffer[] = [],
): Promise<void> {
  const proof = keyRing.proofOf(new AesKey(keyFrom(target, 1, uidToBytes(uid), keysOf)), uid)
  const removed = await rememberedOf(db.read, { identities: [], uids: [uid] })
  const set = row?.keySetId == null || row.lastCounter < 0 ? undefined : keyRing.get(row.keySetId)
  const current = row && set ? [keyRing.proofOf(keyRing.fileReadKey(set, row), uid)] : []
  const replaced = supplied.map((key) => keyRing.proofOf(new AesKey(key), uid))
  if (![...removed.map((one) => one.proof), ...current, ...replaced].includes(proof)) return
  throw conflict(
    `The chip had the same file-read key before, so its old taps would become valid again. Use a key set with the derivation an10922.`,
  )
}

/** True if the chip is registered with exactly these keys. */
export const isRegisteredWith = (
  row: Pick<ChipRow, 'keySetId' | 'generation'> | undefined,
  { keySet, generation }: KeySetSource,
): boolean => row !== undefined && row.keySetId === keySet && row.generation === generation

/** 1: the chip's URL carries the status of its seal. */
const shows = ({ template }: Plan): 0 | 1 => (template?.tamper ? 1 : 0)

/** True if the registry has the same seal setting as the plan. */
export const hasTamperMode = (row: Pick<ChipRow, 'tagTamper'> | undefined, plan: Plan): boolean =>
  row?.tagTamper === shows(plan)

/**
 * Registers a chip and uses up the tap that it showed, which invalidates earlier taps. @throws DomainError conflict
 */
export async function registerWithTap(
  deps: RegistrationDeps,
  actor: Actor,
  keyed: KeyedPlan,
  tap: LiveTap,
): Promise<void> {
  const at = iso(deps.clock.now())
  await deps.db.write((trx) => registerIn(trx, deps, actor, keyed, { at, tap }))
  const judged = await takeTap(deps, queryOf(tap.url), 'setup', async () => ({ result: undefined }))
  if (judged.kind === 'taken' || judged.kind === 'caught-up' || judged.kind === 'disabled') return
  throw conflict(
    judged.kind === 'replayed'
      ? `The chip's counter (${tap.counter}) is behind its last known tap (${judged.chip.lastCounter}). Set it up with new keys: --rekey`
      : 'The chip showed a tap that is not its own. Put it on the reader again and run tapchip nfc recover',
  )
}

async function registerIn(
  trx: Queries,
  deps: RegistrationDeps,
  actor: Actor,
  { plan, target, enrollment: { teamId, chipGroupId, details, mayBind, place } }: KeyedPlan,
  { at, tap }: { at: string; tap: LiveTap },
): Promise<void> {
  const { uid } = plan
  await assertTeamIn(trx, teamId)
  if (!(await findChipGroup(trx, teamId, chipGroupId))) {
    throw conflict(
      'The chip is set up, but its chip group was removed in the meantime. Run nfc provision with another group.',
    )
  }
  const [row] = await findChips(trx, [uid])
  const { keySet: keySetId, generation } = target
  const input = { ...details, uid, generation, lastCounter: tap.counter - 1 }
  const registration: Registration = { teamId, chipGroupId, keySetId, isSimulated: false, mayBind, at }
  if (row) await changeKeys(trx, deps, row, { keySetId, generation, lastCounter: tap.counter - 1, at })
  else {
    const [result] = await registerChipsIn(trx, deps, registration, [input])
    if (result?.status === 'failed')
      throw conflict(`The chip is set up but cannot be registered: ${result.error}`)
  }
  const tagTamper = shows(plan)
  if ((row?.tagTamper ?? 0) !== tagTamper) await updateChip(trx, uid, { tagTamper })
  if (place) await takeRow(trx, place, uid, at)
  if (isRegisteredWith(row, target)) return
  const detail = { keySet: keySetId, generation, chipGroup: chipGroupId, before: row ? keysOfRow(row) : null }
  await recordChange(trx, { at, actor, teamId, action: 'chips.provision', target: uid, detail })
}

const keysOfRow = ({ keySetId, generation, lastCounter }: ChipRow) => ({
  keySet: keySetId,
  generation,
  lastCounter,
})

async function changeKeys(
  trx: Queries,
  { keyRing }: RegistrationDeps,
  row: ChipRow,
  { at, ...keys }: { keySetId: number; generation: number; lastCounter: number; at: string },
): Promise<void> {
  if (isRegisteredWith(row, { keySet: keys.keySetId, generation: keys.generation })) return
  // The chip lost those keys for good: if imported with them again, even its unseen taps are worthless.
  const set = row.keySetId === null ? undefined : keyRing.get(row.keySetId)
  const proof = keyRing.proofOf(set && keyRing.fileReadKey(set, row), row.uid)
  await saveTombstone(trx, { ...row, lastCounter: maxCounter }, proof, at)
  // A chip whose taps can be made without it is not a physical chip.
  await updateChip(trx, row.uid, {
    ...keys,
    catchesUp: 0,
    simulatedCounter: -1,
    simulated: 0,
    fileReadKey: null,
    metaReadKey: null,
  })
}
