import { hasFactoryKeys, inspect } from '../../../nfc/provision/inspect.ts'
import type { KeySource } from '../../../nfc/provision/keys.ts'
import { planReset, sourcesOf } from '../../../nfc/provision/plan.ts'
import { iso } from '../time.ts'
import { chipKeys } from './chip-keys.ts'
import { type Conversation, relay } from './conversation.ts'
import { close, resumeIn, writeDown } from './journal.ts'
import { knownChip, sourceShown } from './known-chip.ts'
import { proveSource } from './prove-source.ts'
import type { Session } from './session.ts'
import { carryOut, type SetUpDeps, type Written } from './set-up.ts'

export interface ResetRequest {
  readonly atr: Uint8Array | undefined
  /** Whether somebody is to say yes once the chip is known. */
  readonly asks: boolean
}

/** Takes a chip back to the factory's state. Its registration stays. */
export async function* resetChip(
  deps: SetUpDeps,
  session: Session,
  { atr, asks }: ResetRequest,
): Conversation {
  const { actor } = session
  const inspection = yield* relay(inspect(atr), 'inspect')
  const { uid } = inspection
  session.saw(uid)
  const isBlank = hasFactoryKeys(inspection)
  if (asks) {
    const known = await knownChip(deps.db.read, uid)
    const registered = known.row ? { label: known.row.label, keySet: known.row.keySetId } : null
    yield { type: 'inspected', chip: { uid, isBlank, hasOpenPlan: known.open !== undefined, registered } }
  }
  session.hold(uid)
  const known = await knownChip(deps.db.read, uid)
  const { open } = known
  const isOwn = open?.plan.target === 'factory'
  const shown = sourceShown(known, inspection.versions)
  let from: readonly KeySource[]
  if (open) from = sourcesOf(open.plan)
  else if (isBlank) from = []
  else from = [shown ?? (yield* proveSource(deps, inspection))]

  const plan = open && isOwn ? open.plan : planReset({ uid, from })
  const keysOf = await chipKeys({ db: deps.db.read, box: deps.box }, sourcesOf(plan))
  const at = iso(deps.clock.now())
  const written = await deps.db.write(async (trx): Promise<Written> => {
    if (open && isOwn) {
      await resumeIn(trx, actor, at, open, undefined)
      return { entry: open, isBegun: true }
    }
    const id = await writeDown(trx, actor, at, { plan, place: undefined, replaces: open?.id })
    return { entry: { id, plan, place: undefined }, isBegun: open !== undefined }
  })
  session.began(written.entry.id)
  yield* carryOut(deps, actor, written, inspection, keysOf)
  await close(deps, actor, written.entry, 'done')
  return { status: 'factory', uid }
}
