import { AesKey } from '../ntag424/cmac.ts'
import {
  authenticate,
  changeFileSettings,
  changeKey,
  getCardUid,
  writableBytes,
  writeData,
} from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { MIRRORED, sameFileSettings } from '../ntag424/file-settings.ts'
import { MASTER_KEY, MAX_LC, NDEF_FILE } from '../ntag424/layout.ts'
import type { SecureSession } from '../ntag424/secure-session.ts'
import { type Script, together } from '../script.ts'
import { selectApplication } from '../type4.ts'
import { uidToBytes } from '../uid.ts'
import {
  AuthenticationDelayed,
  ChipLocked,
  ForeignKeyInSlot,
  ForeignKeys,
  OtherTemplate,
  TornChip,
  WrongChip,
} from './errors.ts'
import type { Inspection } from './inspect.ts'
import { checkTap } from './live-tap.ts'
import {
  type KeySource,
  type KeysOf,
  keyFrom,
  type Plan,
  sameSource,
  sourcesOf,
  sourceVersion,
  type TargetFile,
  targetFile,
} from './plan.ts'

/** `applied`: written but not read back yet. `unchanged`: the chip was already as planned. */
export type Applied = 'applied' | 'unchanged'

const INTEGRITY = 0x911e

/**
 * Brings a chip without a known unfinished plan into the planned state, with one authentication, in four bursts after the
 * one of inspect. If the chip is already in that state, a tap proves it. Keys 1 to 4 come first, then the file, and key 0
 * last: as long as key 0 is the old one, the chip can still be set up or reset.
 * @param inspection the chip's current state
 * @throws WrongChip, ForeignKeys, TornChip, OtherTemplate, ChipLocked, AuthenticationDelayed; ForeignKeyInSlot when the
 * chip was partly changed; other ChipErrors, after which the chip has to be recovered
 */
export function* apply(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Applied> {
  const slots = slotsOf(plan, inspection)
  const [first = plan.target] = slots
  if (slots.some((source) => !sameSource(source, first))) throw new TornChip()
  if (!sameSource(first, plan.target)) return yield* write(plan, inspection, slots, deps)

  const settled = sameFileSettings(inspection.ndef, targetFile(plan).settings)
  if (plan.target === 'factory') {
    if (settled && (yield* checkTap(plan, deps.keysOf)).asPlanned) return 'unchanged'
    return yield* write(plan, inspection, slots, deps)
  }
  // The version alone is no proof: every key set's first generation has version 1.
  const { tap, asPlanned } = yield* checkTap(plan, deps.keysOf)
  if (!tap) throw new ForeignKeys(inspection.versions)
  if (!settled || !asPlanned) throw new OtherTemplate()
  return 'unchanged'
}

/**
 * Completes a recorded plan on a chip, wherever it was interrupted, with one authentication and no failed one. On an
 * untouched chip it does the same as apply. @throws as apply, but not TornChip
 */
export function* recover(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Applied> {
  const slots = slotsOf(plan, inspection)
  const done = slots.every((source) => sameSource(source, plan.target))
  // An empty message does not prove an empty file, which takes several commands to write.
  const isSetUp = done && plan.target !== 'factory'
  if (isSetUp && sameFileSettings(inspection.ndef, targetFile(plan).settings)) {
    const { asPlanned, tap } = yield* checkTap(plan, deps.keysOf)
    if (asPlanned && tap) return 'unchanged'
  }
  return yield* write(plan, inspection, slots, deps)
}

/** The source of the key in each slot. @throws WrongChip, ForeignKeys */
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
    throw new ChipLocked('key 0 may not change the settings of its NDEF file')

  const [held = target] = slots
  const session = yield* openWithKey(inspection, held, deps)
  const version = sourceVersion(target)
  const slotsToChange = ([1, 2, 3, 4] as const).flatMap((keyNo) => {
    const old = slots[keyNo] ?? target
    return sameSource(old, target)
      ? []
      : [changeSlot(session, keyNo, key(old, keyNo), key(target, keyNo), version)]
  })
  yield* together([
    ...slotsToChange,
    // Writing settings resets the counter, so equal ones are not written.
    ...(settled ? [] : [changeFileSettings(session, NDEF_FILE, file.settings)]),
    ...writeFile(session, file, deps.maxLc ?? MAX_LC),
    ...(sameSource(held, target)
      ? []
      : [changeKey(session, { keyNo: MASTER_KEY, newKey: key(target, MASTER_KEY), version })]),
  ])
  return 'applied'
}

/** Writes from the end, so that a file with the right length is complete. */
function writeFile(
  session: SecureSession,
  { ndef, settings: { sdm } }: TargetFile,
  maxLc: number,
): Script<void>[] {
  // The chip overlays the MAC at the end, so its bytes need not be written.
  const isFilledIn = sdm?.macOffset !== undefined && sdm.macOffset + MIRRORED.mac === ndef.length
  const bytes = isFilledIn ? ndef.subarray(0, sdm.macOffset) : ndef
  const size = writableBytes(maxLc)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, piece) => {
    const offset = piece * size
    return writeData(NDEF_FILE, bytes.subarray(offset, offset + size), { offset, session })
  }).reverse()
}

function* changeSlot(
  session: SecureSession,
  keyNo: 1 | 2 | 3 | 4,
  oldKey: Buffer,
  newKey: Buffer,
  version: number,
): Script<void> {
  try {
    yield* changeKey(session, { keyNo, oldKey, newKey, version })
  } catch (error) {
    // The chip derives the new key from the old one, and checks its CRC.
    if (error instanceof ChipStatusError && error.status === INTEGRITY)
      throw new ForeignKeyInSlot(keyNo, { cause: error })
    throw error
  }
}

export interface ApplyDeps {
  readonly keysOf: KeysOf
  /** Generates RndA. */
  readonly random: (length: number) => Uint8Array
  /** The largest Lc that the reader passes. Default: MAX_LC. */
  readonly maxLc?: number | undefined
}

const PERMISSION_DENIED = 0x919d
const AUTHENTICATION_DELAY = 0x91ad
const AUTHENTICATION = 0x91ae

/**
 * Opens a session with the inspected chip under key 0 of a source: 3 APDUs, one authentication, no changes. Except with
 * the factory's public key this proves the chip's identity, unlike plain answers or an earlier tap.
 * @throws WrongChip, ForeignKeys, ChipLocked, AuthenticationDelayed
 */
export function* openWithKey(
  { uid, versions }: Pick<Inspection, 'uid' | 'versions'>,
  source: KeySource,
  { keysOf, random }: ApplyDeps,
): Script<SecureSession> {
  const bytes = uidToBytes(uid)
  const session = yield* opened(new AesKey(keyFrom(source, 0, bytes, keysOf)), random, versions)
  // The plain UID may be garbled or forged, and keys derived from a wrong UID would be lost.
  if (!(yield* getCardUid(session)).equals(bytes)) throw new WrongChip()
  return session
}

function* opened(
  key: AesKey,
  random: ApplyDeps['random'],
  versions: readonly number[],
): Script<SecureSession> {
  try {
    return yield* authenticated(key, random)
  } catch (error) {
    if (!(error instanceof ChipStatusError)) throw error
    const { status } = error
    if (status === AUTHENTICATION) throw new ForeignKeys(versions, { cause: error })
    if (status === AUTHENTICATION_DELAY) throw new AuthenticationDelayed({ cause: error })
    if (status === PERMISSION_DENIED)
      throw new ChipLocked('it accepts no AES authentication (LRP mode, or a key that failed too often)', {
        cause: error,
      })
    throw error
  }
}

/** An unselected application gives the same status as a locked chip, so it is selected and retried once. */
function* authenticated(key: AesKey, random: ApplyDeps['random']): Script<SecureSession> {
  try {
    return yield* authenticate(MASTER_KEY, key, random(16))
  } catch (error) {
    if (!(error instanceof ChipStatusError && error.status === PERMISSION_DENIED)) throw error
    yield* selectApplication()
    return yield* authenticate(MASTER_KEY, key, random(16))
  }
}
