import { randomBytes } from 'node:crypto'
import { NdefFormatError } from '../../../nfc/ndef.ts'
import { queryOf } from '../../../nfc/ntag424/template/match.ts'
import { claimOf } from '../../../nfc/ntag424/template/tap.ts'
import { type ApplyDeps, apply } from '../../../nfc/provision/apply.ts'
import { carryOut } from '../../../nfc/provision/carry-out.ts'
import {
  AuthenticationDelayed,
  ChipLocked,
  ForeignKeys,
  LrpChip,
  OtherTemplate,
  TornChip,
  WrongChip,
} from '../../../nfc/provision/errors.ts'
import type { Inspection } from '../../../nfc/provision/inspect.ts'
import type { LiveTap } from '../../../nfc/provision/live-tap.ts'
import type { KeySetSource, KeysOf, Plan } from '../../../nfc/provision/plan.ts'
import { readBack } from '../../../nfc/provision/read-back.ts'
import { readTap } from '../../../nfc/read-tap.ts'
import { uidFromBytes } from '../../../nfc/uid.ts'
import { maxCounter } from '../../../values/chip-columns.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { findChips, updateChip } from '../../store/chips/chips.ts'
import type { Queries } from '../../store/database/database.ts'
import { endTapsOfChip } from '../../store/taps/recorded-taps.ts'
import type { KeySet } from '../chips/key-ring.ts'
import { DomainError } from '../errors/errors.ts'
import { candidatesOf } from '../taps/verify-tap.ts'
import { chipKeys } from './chip-keys.ts'
import { verificationPlan } from './choose-plan.ts'
import { close, type JournalEntry } from './journal.ts'
import { isReset } from './known-chip.ts'
import type { RegistrationDeps } from './registration.ts'
import { type Phase, type Reply, runScript, type Step } from './session.ts'

export interface SetUpDeps extends RegistrationDeps {
  readonly baseUrl: string
}

type Part<R> = AsyncGenerator<Step, R, Reply>

export const chipDeps = (keysOf: KeysOf) => ({ keysOf, random: randomBytes })

/** These are thrown before anything is written, so the chip still has its old keys. */
const isUntouched = (error: unknown): boolean =>
  [WrongChip, ForeignKeys, TornChip, OtherTemplate, ChipLocked, LrpChip, AuthenticationDelayed].some(
    (kind) => error instanceof kind,
  )

export interface StoredPlan {
  readonly entry: Pick<JournalEntry, 'id' | 'plan' | 'enrollment'>
  /** The chip may have been written to, because its plan or a replaced one was open. */
  readonly isBegun: boolean
}

/** Executes a stored plan and reads the chip back. @returns null for a chip with factory keys */
export async function* executePlan(
  deps: SetUpDeps,
  actor: Actor,
  { entry, isBegun }: StoredPlan,
  inspection: Inspection,
  carried: Omit<ApplyDeps, 'random'>,
): Part<LiveTap | null> {
  let phase: Phase = 'set-up'
  const onWritten = (): void => {
    phase = 'read-back'
  }
  const script = carryOut(entry.plan, inspection, { ...carried, random: randomBytes, isBegun, onWritten })
  try {
    return yield* runScript(script, () => phase)
  } catch (error) {
    if (!isBegun && isUntouched(error)) await close(deps, actor, entry, 'untouched')
    throw error
  }
}

export const readBackTap = (plan: Plan, keysOf: KeysOf): Part<LiveTap | null> =>
  runScript(readBack(plan, chipDeps(keysOf)), 'read-back')

/** Compares a chip with a plan that cannot write. @returns false if it shows another URL */
export async function* matchesPlan(
  plan: Plan,
  inspection: Inspection,
  keysOf: KeysOf,
  onTap: (tap: LiveTap) => void = () => {},
): Part<boolean> {
  try {
    yield* runScript(apply(plan, inspection, { ...chipDeps(keysOf), onUnchanged: onTap }), 'inspect')
    return true
  } catch (error) {
    // Thrown only after the tap has proven the keys.
    if (error instanceof OtherTemplate) return false
    throw error
  }
}

/** The key sets that the chip's own tap fits, and the UID that each finds in it. */
export async function* setsShown({
  keyRing,
}: Pick<SetUpDeps, 'keyRing'>): Part<readonly { set: KeySet; uid: string | undefined }[]> {
  try {
    const { url } = yield* runScript(readTap(), 'inspect')
    return candidatesOf(keyRing, queryOf(url ?? '')).candidates.map(({ set, values }) => {
      const claim = claimOf(values, set.metaRead)
      return { set, uid: claim && uidFromBytes(claim.uid) }
    })
  } catch (error) {
    if (error instanceof NdefFormatError) return []
    throw error
  }
}

/** The chip's own tap names a key set and proves its keys; no authentication is attempted. @throws ForeignKeys */
export async function* proveSource(
  deps: SetUpDeps,
  inspection: Inspection,
): AsyncGenerator<Step, KeySetSource, Reply> {
  const { versions } = inspection
  if (versions[0] === 0 || versions.some((version) => version !== versions[0]))
    throw new ForeignKeys(versions)
  const shown = yield* setsShown(deps)
  const fitting = shown.filter(({ uid }) => uid === inspection.uid)
  let refusal: Error = new ForeignKeys(versions)
  // A plain mirror fits every key set with its template. A chip with another UID than its tap's is refused by the plan.
  for (const { set } of fitting.length > 0 ? fitting : shown.slice(0, 1)) {
    const { plan, target } = verificationPlan(inspection, { set, baseUrl: deps.baseUrl, content: {} })
    try {
      yield* matchesPlan(plan, inspection, await chipKeys({ db: deps.db.read, box: deps.box }, [target]))
      return target
    } catch (error) {
      if (!(error instanceof ForeignKeys || error instanceof DomainError)) throw error
      refusal = error
    }
  }
  throw refusal
}

/** Part of the write that completes a reset: the chip has lost its keys, so its taps, refs, and codes are invalid. */
export const invalidateTaps =
  (actor: Actor, plan: Plan) =>
  async (trx: Queries, at: string): Promise<void> => {
    const { uid } = plan
    const [row] = isReset(plan) ? await findChips(trx, [uid]) : []
    if (!row || row.keySetId === null) return
    await updateChip(trx, uid, { lastCounter: maxCounter })
    await endTapsOfChip(trx, uid, at)
    const { teamId, keySetId: keySet, generation, lastCounter } = row
    const detail = { keySet, generation, lastCounter }
    await recordChange(trx, { at, actor, teamId, action: 'chips.reset', target: uid, detail })
  }
