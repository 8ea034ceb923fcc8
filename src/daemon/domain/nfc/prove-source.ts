import { ForeignKeys } from '../../../nfc/provision/errors.ts'
import type { Inspection } from '../../../nfc/provision/inspect.ts'
import type { KeySetSource } from '../../../nfc/provision/plan.ts'
import { readTap } from '../../../nfc/read-tap.ts'
import { chipKeys } from './chip-keys.ts'
import { lookPlan } from './choose-plan.ts'
import { type Reply, relay, type Step } from './conversation.ts'
import { holdAgainst, type SetUpDeps } from './set-up.ts'

/**
 * Where the keys of a chip are from that neither registry nor journal knows: its tap names a key set, and proves that
 * it has its keys. No authentication is tried. @throws ForeignKeys
 */
export async function* proveSource(
  deps: SetUpDeps,
  inspection: Inspection,
): AsyncGenerator<Step, KeySetSource, Reply> {
  const { versions } = inspection
  if (versions[0] === 0 || versions.some((version) => version !== versions[0]))
    throw new ForeignKeys(versions)
  const { d } = yield* relay(readTap({ templates: deps.keyRing.templates() }), 'inspect')
  const set = d !== null && /^\d{1,10}$/.test(d) ? deps.keyRing.get(Number(d)) : undefined
  if (!set) throw new ForeignKeys(versions)
  const { plan, target } = lookPlan(inspection, { set, baseUrl: deps.baseUrl })
  yield* holdAgainst(plan, inspection, await chipKeys({ db: deps.db.read, box: deps.box }, [target]))
  return target
}
