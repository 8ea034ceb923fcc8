import {
  changeFileSettings,
  changeKey,
  enableLrp,
  enableTamper,
  writableBytes,
  writeData,
} from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { type FileSettings, MIRRORED, sameFileSettings } from '../ntag424/file-settings.ts'
import { CC_FILE, MASTER_KEY, NDEF_FILE, WRITE_ACCESS_OFFSET } from '../ntag424/layout.ts'
import type { SecureSession } from '../ntag424/secure-session.ts'
import { MAX_LC, type Script, SHORT_LC, together } from '../script.ts'
import { selectApplication } from '../type4.ts'
import { uidToBytes } from '../uid.ts'
import { changeSlot } from './change-slot.ts'
import {
  ChipLocked,
  CounterAtEnd,
  ForeignKeys,
  LrpChip,
  OtherTemplate,
  ReaderLimit,
  TornChip,
  WrongChip,
} from './errors.ts'
import type { Inspection } from './inspect.ts'
import { checkTap, type LiveTap } from './live-tap.ts'
import { type OpenDeps, openWithKey } from './open-with-key.ts'
import {
  type KeySource,
  keyFrom,
  type Plan,
  sameSource,
  sourcesAt,
  type TargetFile,
  targetFile,
  versionIn,
} from './plan.ts'
import { proveKeys } from './prove-keys.ts'

/** `applied`: written but not read back yet. `unchanged`: the chip was already as planned. */
export type Applied = 'applied' | 'unchanged'

/** The reader's answer, not the chip's, to a command that is too long for it. */
const NOT_PASSED = [0x6f00, 0x6700]

/** The commands that bring a chip into the planned state, in one burst; undefined when it is in that state. */
export type Writes = readonly Script<void>[] | undefined

/**
 * Brings a chip without a known unfinished plan into the planned state, with one authentication, in four bursts after the
 * one of inspect. If the chip is already in that state, a tap proves it. Keys 1 to 4 come first, then the file, and key 0
 * last: as long as key 0 is the old one, the chip can still be set up or reset.
 * @param inspection the chip's current state
 * @throws WrongChip, ForeignKeys, TornChip, OtherTemplate, ChipLocked, LrpChip, AuthenticationDelayed; ForeignKeyInSlot or
 * ReaderLimit when the chip was partly changed; other ChipErrors, after which the chip has to be recovered
 */
export function* apply(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Applied> {
  return yield* written(yield* writesToApply(plan, inspection, deps))
}

/** Opens the session of apply, and writes nothing yet. */
export function* writesToApply(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Writes> {
  const found = yield* slotsOf(plan, inspection, deps)
  const [first = plan.target] = found.slots
  if (found.slots.some((source) => !sameSource(source, first))) throw new TornChip()
  if (!sameSource(first, plan.target)) return yield* writesFor(plan, inspection, found, deps)

  const settled = sameFileSettings(inspection.ndef, targetFile(plan).settings)
  if (plan.target === 'factory') {
    if (!settled) return yield* writesFor(plan, inspection, found, deps)
    // Selecting the application ends the session, in which the chip gives no tap.
    const [, { asPlanned }] = yield* together([selectApplication(), checkTap(plan, deps.keysOf)])
    return asPlanned ? undefined : yield* writesFor(plan, inspection, { ...found, session: undefined }, deps)
  }
  // The version alone is no proof: every key set's first generation has version 1.
  const { tap, asPlanned, isRefused } = yield* checkTap(plan, deps.keysOf)
  if (settled && isRefused) throw new CounterAtEnd()
  if (!tap) throw new ForeignKeys(inspection.versions)
  if (!settled || !asPlanned) throw new OtherTemplate()
  deps.onUnchanged?.(tap)
  return undefined
}

/**
 * Completes a recorded plan on a chip, wherever it was interrupted, with one authentication and no failed one. On an
 * untouched chip it does the same as apply. @throws as apply, but not TornChip
 */
export function* recover(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Applied> {
  return yield* written(yield* writesToRecover(plan, inspection, deps))
}

/** Opens the session of recover, and writes nothing yet. */
export function* writesToRecover(plan: Plan, inspection: Inspection, deps: ApplyDeps): Script<Writes> {
  const found = yield* slotsOf(plan, inspection, deps)
  const done = found.slots.every((source) => sameSource(source, plan.target))
  // An empty message does not prove an empty file, which takes several commands to write.
  // A TagTamper shows only from its next activation on if its loop is enabled, so it is enabled again.
  const isSetUp = done && plan.target !== 'factory' && !plan.template?.tamper
  if (isSetUp && sameFileSettings(inspection.ndef, targetFile(plan).settings)) {
    const { asPlanned, tap } = yield* checkTap(plan, deps.keysOf)
    if (asPlanned && tap) return undefined
  }
  return yield* writesFor(plan, inspection, found, deps)
}

function* written(writes: Writes): Script<Applied> {
  if (!writes) return 'unchanged'
  yield* together(writes)
  return 'applied'
}

interface Found {
  /** The source of the key in each slot. */
  readonly slots: readonly KeySource[]
  /** Opened with key 0. */
  readonly session: SecureSession | undefined
}

/** Asks the chip only where versions do not tell. @throws WrongChip, ForeignKeys, ForeignKeyInSlot */
function* slotsOf(plan: Plan, { uid, versions }: Inspection, deps: ApplyDeps): Script<Found> {
  if (uid !== plan.uid) throw new WrongChip()
  const options = versions.map((_, keyNo) => sourcesAt(plan, keyNo, versions))
  if (options.some((sources) => sources.length === 0)) throw new ForeignKeys(versions)
  if (options.every((sources) => sources.length === 1))
    return { slots: options.flat(), session: deps.session }
  const bytes = uidToBytes(uid)
  const keys = options.map((sources, keyNo) =>
    sources.map((source) => keyFrom(source, keyNo, bytes, deps.keysOf)),
  )
  const proven = yield* proveKeys(versions, keys, deps.random)
  if (!proven.uid.equals(bytes)) throw new WrongChip()
  const slots = options.map((sources, keyNo) => sources[proven.at[keyNo] ?? 0] ?? plan.target)
  return { slots, session: proven.session }
}

function* writesFor(
  plan: Plan,
  inspection: Inspection,
  { slots, session: opened }: Found,
  deps: ApplyDeps,
): Script<Writes> {
  const { ndef, capabilities } = inspection
  const uid = uidToBytes(plan.uid)
  const { target } = plan
  const file = targetFile(plan)
  const isLrp = plan.template?.lrp === true
  const key = (source: KeySource, keyNo: number): Buffer => keyFrom(source, keyNo, uid, deps.keysOf)
  const isSettled = sameFileSettings(ndef, file.settings)
  if (!isSettled && ndef.access.change !== 0)
    throw new ChipLocked('key 0 may not change the settings of its NDEF file')

  const [current = target] = slots
  let session = opened ?? (yield* openWithKey(inspection, current, deps))
  if (session.isLrp && plan.template && !isLrp) throw new LrpChip()
  const switches = isLrp && !session.isLrp
  if (switches) {
    yield* enableLrp(session)
    session = yield* openWithKey(inspection, current, deps)
  }
  // The switch turns mirrors off.
  const settled = isSettled && !switches
  const slotsToChange = ([1, 2, 3, 4] as const).flatMap((keyNo) => {
    const old = slots[keyNo] ?? target
    return sameSource(old, target)
      ? []
      : [changeSlot(session, keyNo, key(old, keyNo), key(target, keyNo), versionIn(target, keyNo))]
  })
  return [
    ...slotsToChange,
    ...(plan.template?.tamper ? [enableTamper(session)] : []),
    // Writing settings resets the counter, so equal ones are not written.
    ...(settled ? [] : [changeFileSettings(session, NDEF_FILE, file.settings)]),
    ...writeFile(session, file, Math.min(deps.maxLc ?? MAX_LC, MAX_LC)),
    ...writeCapabilities(session, capabilities, target === 'factory'),
    ...(sameSource(current, target)
      ? []
      : [
          changeKey(session, {
            keyNo: MASTER_KEY,
            newKey: key(target, MASTER_KEY),
            version: versionIn(target, MASTER_KEY),
          }),
        ]),
  ]
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
    return writePiece(session, offset, bytes.subarray(offset, offset + size))
  }).reverse()
}

/** Tells phones whether they may write. A chip whose capability file another system locked keeps it. */
function writeCapabilities(
  session: SecureSession,
  { mode, access }: FileSettings,
  isWritable: boolean,
): Script<void>[] {
  const isOpen = [access.write, access.readWrite].some((one) => one === MASTER_KEY || one === 'free')
  if (!isOpen) return []
  // A free file travels in plain, also in a session: NT4H2421Gx s8.2.3.5.
  const isFree = ![access.write, access.readWrite].includes(MASTER_KEY)
  const data = Buffer.of(isWritable ? 0x00 : 0xff)
  return [writeData(CC_FILE, data, { offset: WRITE_ACCESS_OFFSET, mode: isFree ? 'plain' : mode, session })]
}

function* writePiece(session: SecureSession, offset: number, piece: Buffer): Script<void> {
  try {
    yield* writeData(NDEF_FILE, piece, { offset, session })
  } catch (error) {
    const isLong = piece.length > writableBytes(SHORT_LC)
    if (isLong && error instanceof ChipStatusError && NOT_PASSED.includes(error.status))
      throw new ReaderLimit(piece.length + MAX_LC - writableBytes(MAX_LC), { cause: error })
    throw error
  }
}

export interface ApplyDeps extends OpenDeps {
  /** Called with the tap that proves a chip which apply leaves as it is. */
  readonly onUnchanged?: (tap: LiveTap) => void
  /** Opened by openWithKey with the key 0 that the chip has, and not used since. Default: one is opened. */
  readonly session?: SecureSession | undefined
  /** The largest Lc that the reader passes, 59 or more. Default: MAX_LC, which is used where it is less. */
  readonly maxLc?: number | undefined
}
