import type { SecureSession } from '../../../nfc/ntag424/secure-session.ts'
import { ForeignKeys } from '../../../nfc/provision/errors.ts'
import { hasFactoryKeys, type Inspection, inspect } from '../../../nfc/provision/inspect.ts'
import { openWithKey } from '../../../nfc/provision/open-with-key.ts'
import {
  type KeySource,
  planReset,
  sourcesOf,
  sourcesOn,
  sourceVersion,
} from '../../../nfc/provision/plan.ts'
import { iso } from '../time/time.ts'
import { assertMayWrite, chipKeys } from './chip-keys.ts'
import { takesOver } from './choose-plan.ts'
import {
  chipDeps,
  executePlan,
  invalidateTaps,
  proveSource,
  type SetUpDeps,
  type StoredPlan,
} from './execute-plan.ts'
import { close, openEntry, resumeEntry } from './journal.ts'
import { isAccountedFor, type KnownChip, knownChip, sourceShown } from './known-chip.ts'
import {
  type CardSession,
  type ChipRequest,
  type NfcSession,
  type Reply,
  runScript,
  type Step,
} from './session.ts'

interface ResetRequest extends Omit<ChipRequest, 'mayBind'> {
  /** Wait for confirmation once the chip is known. */
  readonly asks: boolean
}

/** Resets a chip to its factory state. It stays registered, but its taps become invalid. */
export async function* resetChip(
  deps: SetUpDeps,
  session: NfcSession,
  { atr, maxLc, asks, mayVouch }: ResetRequest,
): CardSession {
  const { actor } = session
  const inspection = yield* runScript(inspect(atr), 'inspect')
  const { uid } = inspection
  session.uid = uid
  const isBlank = hasFactoryKeys(inspection)
  if (asks) {
    const known = await knownChip(deps.db.read, uid)
    const registered = known.row ? { label: known.row.label, keySet: known.row.keySetId } : null
    yield { type: 'inspected', chip: { uid, isBlank, hasOpenPlan: known.open !== undefined, registered } }
  }
  await session.lock({ uid })
  const known = await knownChip(deps.db.read, uid)
  const { open } = known
  const isOwn = open?.plan.target === 'factory'
  const isVouched = !isAccountedFor(inspection, known)
  if (isVouched && !mayVouch) throw takesOver(known)
  const from = yield* sourcesFor(deps, inspection, known, isVouched)
  const plan = open && isOwn ? open.plan : planReset({ uid, from })
  assertMayWrite(deps, { plan, versions: inspection.versions }, mayVouch)
  const keysOf = await chipKeys({ db: deps.db.read, box: deps.box }, sourcesOn(plan, inspection.versions))
  // Before the plan is stored: otherwise, planning a reset without having the chip would let a blank one replace it.
  let opened: SecureSession | undefined
  if (inspection.versions[0] !== 0) {
    const currentKey = from.find((source) => sourceVersion(source) === inspection.versions[0])
    if (currentKey === undefined) throw new ForeignKeys(inspection.versions)
    opened = yield* runScript(openWithKey(inspection, currentKey, chipDeps(keysOf)), 'inspect')
  }
  const at = iso(deps.clock.now())
  const written = await deps.db.write(async (trx): Promise<StoredPlan> => {
    if (open && isOwn) {
      await resumeEntry(trx, actor, at, open, undefined)
      return { entry: open, isBegun: true }
    }
    const id = await openEntry(trx, actor, at, { plan, enrollment: undefined, replaces: open?.id })
    return { entry: { id, plan, enrollment: undefined }, isBegun: open !== undefined }
  })
  session.planId = written.entry.id
  yield* executePlan(deps, actor, written, inspection, { keysOf, maxLc, session: opened })
  await close(deps, actor, written.entry, 'done', invalidateTaps(actor, plan))
  return { status: 'factory', uid }
}

/** Possible sources of the keys to remove. */
async function* sourcesFor(
  deps: SetUpDeps,
  inspection: Inspection,
  known: KnownChip,
  isVouched: boolean,
): AsyncGenerator<Step, readonly KeySource[], Reply> {
  const { open, row } = known
  if (open) return sourcesOf(open.plan)
  if (!hasFactoryKeys(inspection))
    return [sourceShown(known, inspection.versions) ?? (yield* proveSource(deps, inspection))]
  // It was reset elsewhere.
  return isVouched && row?.keySetId != null ? [{ keySet: row.keySetId, generation: row.generation }] : []
}
