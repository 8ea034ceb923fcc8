import { randomBytes } from 'node:crypto'
import type { SecureSession } from '../../../nfc/ntag424/secure-session.ts'
import { ForeignKeys } from '../../../nfc/provision/errors.ts'
import { hasFactoryKeys, type Inspection } from '../../../nfc/provision/inspect.ts'
import { openWithKey } from '../../../nfc/provision/open-with-key.ts'
import {
  FACTORY_KEY,
  type KeySource,
  type KeysOf,
  planReset,
  sourcesOf,
  sourcesOn,
  versionIn,
} from '../../../nfc/provision/plan.ts'
import { proveKeys } from '../../../nfc/provision/prove-keys.ts'
import { iso } from '../time/time.ts'
import { assertMayWrite, chipKeys } from './chip-keys.ts'
import { inspectChip } from './chip-on-reader.ts'
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
import { proveSupplied, sealSupplied, suppliedIn } from './supplied-keys.ts'

interface ResetRequest extends Omit<ChipRequest, 'mayBind'> {
  /** Wait for confirmation once the chip is known. */
  readonly asks: boolean
}

/** Resets a chip to its factory state. It stays registered, but its taps become invalid. */
export async function* resetChip(deps: SetUpDeps, session: NfcSession, request: ResetRequest): CardSession {
  const { maxLc, asks, mayVouch } = request
  const { actor } = session
  const inspection = yield* inspectChip(deps, request)
  const { uid, randomId } = inspection
  session.uid = uid
  const isBlank = hasFactoryKeys(inspection)
  if (asks) {
    const known = await knownChip(deps.db.read, uid, actor)
    const registered = known.row ? { label: known.row.label, keySet: known.row.keySetId } : null
    yield { type: 'inspected', chip: { uid, isBlank, hasOpenPlan: known.open !== undefined, registered } }
  }
  await session.lock({ uid })
  const known = await knownChip(deps.db.read, uid, actor)
  const { open } = known
  const isOwn = open?.plan.target === 'factory'
  const proven = yield* proveSupplied(deps, inspection, known, request.supplied)
  const isVouched = !isAccountedFor(inspection, known, proven)
  if (isVouched && !mayVouch) throw takesOver(known, proven !== undefined)
  const from = proven ? [proven.source] : yield* sourcesFor(deps, inspection, known, isVouched)
  const resumes = isOwn && !proven ? open : undefined
  const plan = resumes?.plan ?? planReset({ uid, from, randomId })
  await assertMayWrite(deps, { plan, versions: inspection.versions }, { mayVouch, ...actor })
  const supplied = proven?.keys ?? suppliedIn(deps, open)
  const keysOf = await chipKeys(
    { db: deps.db.read, box: deps.box },
    sourcesOn(plan, inspection.versions),
    supplied,
  )
  const opened = proven?.session ?? (yield* openedBefore(inspection, known, from, keysOf))
  const at = iso(deps.clock.now())
  const written = await deps.db.write(async (trx): Promise<StoredPlan> => {
    if (open && resumes) {
      await resumeEntry(trx, actor, at, open, undefined)
      return { entry: open, isBegun: true }
    }
    const suppliedKeys = supplied && sealSupplied(deps, uid, supplied)
    const id = await openEntry(trx, actor, at, {
      plan,
      enrollment: undefined,
      replaces: open?.id,
      suppliedKeys,
    })
    return { entry: { id, plan, enrollment: undefined }, isBegun: open !== undefined }
  })
  session.planId = written.entry.id
  yield* executePlan(deps, actor, written, inspection, { keysOf, maxLc, session: opened })
  await close(deps, actor, written.entry, 'done', invalidateTaps(actor, plan))
  return { status: 'factory', uid }
}

/**
 * Proves the keys before the plan is stored. Otherwise, planning a reset without having the chip would let a blank one
 * replace it, and a chip that only looks blank would leave a plan that nobody can complete. @throws ForeignKeys,
 * ForeignKeyInSlot
 */
async function* openedBefore(
  inspection: Inspection,
  { open }: KnownChip,
  from: readonly KeySource[],
  keysOf: KeysOf,
): AsyncGenerator<Step, SecureSession | undefined, Reply> {
  const { versions } = inspection
  if (versions[0] !== 0) {
    const currentKey = from.find((source) => versionIn(source, 0) === versions[0])
    if (currentKey === undefined) throw new ForeignKeys(versions)
    return yield* runScript(openWithKey(inspection, currentKey, chipDeps(keysOf)), 'inspect')
  }
  if (open || !hasFactoryKeys(inspection)) return undefined
  const options = versions.map(() => [FACTORY_KEY])
  return (yield* runScript(proveKeys(versions, options, randomBytes), 'inspect')).session
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
