import { AesKey } from '../ntag424/cmac.ts'
import { authenticate, changeFileSettings, changeKey, NDEF_FILE, writeData } from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { sameFileSettings } from '../ntag424/file-settings.ts'
import type { Session } from '../ntag424/session.ts'
import type { Script } from '../script.ts'
import { uidToBytes } from '../uid.ts'
import {
  ChipLocked,
  ChipWaits,
  ForeignKeyInSlot,
  ForeignKeys,
  OtherTemplate,
  TornChip,
  WrongChip,
} from './errors.ts'
import type { Inspection } from './inspect.ts'
import { type KeySource, type KeysOf, keyFrom, sameSource, sourceVersion } from './keys.ts'
import { lookAtTap } from './live-tap.ts'
import { type Plan, sourcesOf, targetFile } from './plan.ts'

export interface ApplyDeps {
  readonly keysOf: KeysOf
  /** Gives RndA. */
  readonly random: (length: number) => Uint8Array
}

/** `applied`: written, and to be read back. `unchanged`: it was as planned; nothing was sent that changes it. */
export type Applied = 'applied' | 'unchanged'

const INTEGRITY = 0x911e
const PERMISSION_DENIED = 0x919d
const AUTHENTICATION_DELAY = 0x91ad
const AUTHENTICATION = 0x91ae

/** In one APDU beside header and MAC. */
const PIECE = 224

/**
 * Brings a chip that no unfinished plan is known of into the planned state: 9 APDUs after the 10 of inspect, one
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
  { ndef, versions }: Inspection,
  slots: readonly KeySource[],
  { keysOf, random }: ApplyDeps,
): Script<'applied'> {
  const uid = uidToBytes(plan.uid)
  const { target } = plan
  const file = targetFile(plan)
  const key = (source: KeySource, keyNo: number): Buffer => keyFrom(source, keyNo, uid, keysOf)
  const settled = sameFileSettings(ndef, file.settings)
  if (!settled && ndef.access.change !== 0)
    throw new ChipLocked('the settings of its NDEF file are not for key 0 to change')

  const [held = target] = slots
  const session = yield* open(new AesKey(key(held, 0)), random, versions)
  for (const keyNo of [1, 2, 3, 4] as const) {
    const old = slots[keyNo] ?? target
    if (sameSource(old, target)) continue
    yield* changeSlot(session, keyNo, key(old, keyNo), key(target, keyNo), sourceVersion(target))
  }
  // Settings that stand are left alone: writing them would start the counter again.
  if (!settled) yield* changeFileSettings(session, NDEF_FILE, file.settings)
  // From the end on, so that a file whose length is right is whole.
  const pieces = Math.ceil(file.ndef.length / PIECE)
  for (let piece = pieces - 1; piece >= 0; piece -= 1) {
    const offset = piece * PIECE
    yield* writeData(NDEF_FILE, file.ndef.subarray(offset, offset + PIECE), { offset, session })
  }
  if (!sameSource(held, target))
    yield* changeKey(session, { keyNo: 0, newKey: key(target, 0), version: sourceVersion(target) })
  return 'applied'
}

function* open(key: AesKey, random: ApplyDeps['random'], versions: readonly number[]): Script<Session> {
  try {
    return yield* authenticate(0, key, random(16))
  } catch (error) {
    if (!(error instanceof ChipStatusError)) throw error
    const { status } = error
    if (status === AUTHENTICATION) throw new ForeignKeys(versions, { cause: error })
    if (status === AUTHENTICATION_DELAY) throw new ChipWaits({ cause: error })
    if (status === PERMISSION_DENIED)
      throw new ChipLocked('it takes no AES authentication (LRP mode, or a key that failed too often)', {
        cause: error,
      })
    throw error
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
