import { changeFileSettings, changeKey, writeData } from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { MIRRORED, sameFileSettings } from '../ntag424/file-settings.ts'
import { MASTER_KEY, NDEF_FILE } from '../ntag424/layout.ts'
import type { Session } from '../ntag424/session.ts'
import type { Script } from '../script.ts'
import { uidToBytes } from '../uid.ts'
import { ChipLocked, ForeignKeyInSlot, ForeignKeys, OtherTemplate, TornChip, WrongChip } from './errors.ts'
import type { Inspection } from './inspect.ts'
import { type KeySource, keyFrom, sameSource, sourceVersion } from './keys.ts'
import { lookAtTap } from './live-tap.ts'
import { type ApplyDeps, openWithKey } from './open.ts'
import { type Plan, sourcesOf, type TargetFile, targetFile } from './plan.ts'

/** `applied`: written, and to be read back. `unchanged`: it was as planned; nothing was sent that changes it. */
export type Applied = 'applied' | 'unchanged'

const INTEGRITY = 0x911e

/** In one APDU. The longest URL fits into one of the most that a command takes; a file of zeros takes two anyway. */
const PIECE = 224
const LONGEST_PIECE = 240

/**
 * Brings a chip that no unfinished plan is known of into the planned state: 10 APDUs after the 10 of inspect, one
 * authentication. A chip that is in the planned state already is proven to be by a tap. Keys 1 to 4 come first, then
 * the file, key 0 last: while key 0 is the old one the chip can be taken either way.
 * @param inspection of the chip as it lies there now
 * @throws WrongChip, ForeignKeys, TornChip, OtherTemplate, ChipLocked, ChipWaits; ForeignKeyInSlot when the chip was
 * changed in part; other ChipErrors, after which the chip has to be recovered
 */
export function* apply(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Applied> {
  const slots = slotsOf(plan, inspection)
  const [first = plan.target] = slots
  if (slots.some((source) => !sameSource(source, first))) throw new TornChip()
  if (!sameSource(first, plan.target)) return yield* write(plan, inspection, slots, deps)

  const settled = sameFileSettings(inspection.ndef, targetFile(plan).settings)
  if (plan.target === 'factory') {
    if (settled && (yield* lookAtTap(plan, deps.keysOf)).asPlanned) return 'unchanged'
    return yield* write(plan, inspection, slots, deps)
  }
  // The version alone proves nothing: any key set's first generation has version 1.
  const { tap, asPlanned } = yield* lookAtTap(plan, deps.keysOf)
  if (!tap) throw new ForeignKeys(inspection.versions)
  if (!settled || !asPlanned) throw new OtherTemplate()
  return 'unchanged'
}

/**
 * Brings a chip to the end of a plan that was begun on it and written down before, wherever it was torn: one
 * authentication, none failed. Does what apply does where nothing was begun. @throws as apply, but no TornChip
 */
export function* recover(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Applied> {
  const slots = slotsOf(plan, inspection)
  const done = slots.every((source) => sameSource(source, plan.target))
  if (done && sameFileSettings(inspection.ndef, targetFile(plan).settings)) {
    const { asPlanned, tap } = yield* lookAtTap(plan, deps.keysOf)
    if (asPlanned && (tap || plan.target === 'factory')) return 'unchanged'
  }
  return yield* write(plan, inspection, slots, deps)
}

/** Which source each slot's key is from. @throws WrongChip, ForeignKeys */
function slotsOf(plan: Plan, { uid, versions }: Inspection): readonly KeySource[] {
  if (uid !== plan.uid) throw new WrongChip()
  return versions.map((version) => {
    const source = sourcesOf(plan).find((one) => sourceVersion(one) === version)
    if (source === undefined) throw new ForeignKeys(versions)
    return source
  })
}

function* write(
  plan: Plan,
  inspection: Inspection,
  slots: readonly KeySource[],
  deps: ApplyDeps,
): Script<'applied'> {
  const { ndef } = inspection
  const uid = uidToBytes(plan.uid)
  const { target } = plan
  const file = targetFile(plan)
  const key = (source: KeySource, keyNo: number): Buffer => keyFrom(source, keyNo, uid, deps.keysOf)
  const settled = sameFileSettings(ndef, file.settings)
  if (!settled && ndef.access.change !== 0)
    throw new ChipLocked('the settings of its NDEF file are not for key 0 to change')

  const [held = target] = slots
  const session = yield* openWithKey(inspection, held, deps)
  for (const keyNo of [1, 2, 3, 4] as const) {
    const old = slots[keyNo] ?? target
    if (sameSource(old, target)) continue
    yield* changeSlot(session, keyNo, key(old, keyNo), key(target, keyNo), sourceVersion(target))
  }
  // Settings that stand are left alone: writing them would start the counter again.
  if (!settled) yield* changeFileSettings(session, NDEF_FILE, file.settings)
  yield* writeFile(session, file)
  if (!sameSource(held, target))
    yield* changeKey(session, {
      keyNo: MASTER_KEY,
      newKey: key(target, MASTER_KEY),
      version: sourceVersion(target),
    })
  return 'applied'
}

/** From the end on, so that a file whose length is right is whole. */
function* writeFile(session: Session, { ndef, settings: { sdm } }: TargetFile): Script<void> {
  // What the chip fills in at the end need not be written: nobody sees what lies beneath.
  const isFilledIn = sdm?.macOffset !== undefined && sdm.macOffset + MIRRORED.mac === ndef.length
  const bytes = isFilledIn ? ndef.subarray(0, sdm.macOffset) : ndef
  const size = bytes.length <= LONGEST_PIECE ? LONGEST_PIECE : PIECE
  for (let piece = Math.ceil(bytes.length / size) - 1; piece >= 0; piece -= 1) {
    const offset = piece * size
    yield* writeData(NDEF_FILE, bytes.subarray(offset, offset + size), { offset, session })
  }
}

function* changeSlot(
  session: Session,
  keyNo: 1 | 2 | 3 | 4,
  oldKey: Buffer,
  newKey: Buffer,
  version: number,
): Script<void> {
  try {
    yield* changeKey(session, { keyNo, oldKey, newKey, version })
  } catch (error) {
    // The chip checks a sum over the new key, which it finds by way of the old one.
    if (error instanceof ChipStatusError && error.status === INTEGRITY)
      throw new ForeignKeyInSlot(keyNo, { cause: error })
    throw error
  }
}
