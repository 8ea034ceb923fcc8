import { AesKey } from '../ntag424/cmac.ts'
import { authenticate, changeFileSettings, getFileSettings, getKeyVersion } from '../ntag424/commands.ts'
import { ChipError, ChipStatusError } from '../ntag424/errors.ts'
import { type FileSettings, sameFileSettings } from '../ntag424/file-settings.ts'
import { CC_FILE, MASTER_KEY, NDEF_FILE } from '../ntag424/layout.ts'
import type { SecureSession } from '../ntag424/secure-session.ts'
import { type Script, together } from '../script.ts'
import { selectApplication } from '../type4.ts'
import { uidToBytes } from '../uid.ts'
import type { ApplyDeps } from './apply.ts'
import { changeSlot } from './change-slot.ts'
import { CounterAtEnd, ReadBackMismatch } from './errors.ts'
import { checkTap, type LiveTap } from './live-tap.ts'
import { authenticatePatiently } from './open-with-key.ts'
import { FACTORY_KEY, keyFrom, type Plan, targetFile, versionIn } from './plan.ts'

/** A delay, LRP mode, or a blocked key. */
const REFUSED = [0x91ad, 0x919d]
/** The factory's settings. */
const CC_SETTINGS: FileSettings = {
  mode: 'plain',
  access: { read: 'free', write: 0, readWrite: 0, change: 0 },
}

/**
 * Proves that a chip is as planned: it knows key 0, confirms versions and settings under MAC, and gives a valid tap.
 * After a reset each key is proven to be the factory's, and not just to have its version.
 * Only then is a plan finished. @returns a tap that the daemon processes like any other; null after a reset
 * @throws ReadBackMismatch, CounterAtEnd, ForeignKeyInSlot, LrpChip, ChipLocked, AuthenticationDelayed
 */
export function* readBack(plan: Plan, deps: ApplyDeps): Script<LiveTap | null> {
  const session = yield* openWithTarget(plan, deps)
  const [v0, v1, v2, v3, v4, ndef, capabilities, , , { asPlanned, tap, isRefused }] = yield* together([
    getKeyVersion(0, session),
    getKeyVersion(1, session),
    getKeyVersion(2, session),
    getKeyVersion(3, session),
    getKeyVersion(4, session),
    getFileSettings(NDEF_FILE, session),
    getFileSettings(CC_FILE, session),
    proveFactoryKeys(plan, session),
    selectApplication(),
    checkTap(plan, deps.keysOf),
  ])
  for (const [keyNo, version] of [v0, v1, v2, v3, v4].entries()) {
    const expected = versionIn(plan.target, keyNo)
    if (version !== expected)
      throw new ReadBackMismatch(`key ${keyNo} has version ${version}, not ${expected}`)
  }
  if (!sameFileSettings(ndef, targetFile(plan).settings))
    throw new ReadBackMismatch('its NDEF file has different settings')
  if (isUnlocked(capabilities)) yield* lockCapabilities(plan, deps)
  if (isRefused) throw new CounterAtEnd()
  if (!asPlanned) throw new ReadBackMismatch('its NDEF file has different content')
  if (plan.target === 'factory') return null
  if (!tap) throw new ReadBackMismatch('its tap is invalid')
  return tap
}

/** Writing settings again begins a new count. Only for keys that have made no tap that counts. */
export function* restartCounter(plan: Plan, deps: ApplyDeps): Script<void> {
  yield* changeFileSettings(yield* openWithTarget(plan, deps), NDEF_FILE, targetFile(plan).settings)
}

/** Changing a key to itself proves it, since the chip checks the new key with its old one, and tries no key. */
function* proveFactoryKeys({ target }: Plan, session: SecureSession): Script<void> {
  if (target !== 'factory') return
  yield* together(
    ([1, 2, 3, 4] as const).map((keyNo) => changeSlot(session, keyNo, FACTORY_KEY, FACTORY_KEY, 0)),
  )
}

/** Selects the application and opens a session with the target's key 0, which proves that the chip has it. */
function* openWithTarget(plan: Plan, { keysOf, random }: ApplyDeps): Script<SecureSession> {
  const key = new AesKey(keyFrom(plan.target, 0, uidToBytes(plan.uid), keysOf))
  try {
    const first = yield* attempt(together([selectApplication(), authenticate(MASTER_KEY, key, random(16))]))
    return first ? first[1] : yield* authenticatePatiently(key, random)
  } catch (error) {
    if (error instanceof ChipStatusError)
      throw new ReadBackMismatch('its key 0 is different', { cause: error })
    throw error
  }
}

/** @returns undefined when the chip refuses to authenticate with any key at all */
function* attempt<Result>(script: Script<Result>): Script<Result | undefined> {
  try {
    return yield* script
  } catch (error) {
    if (error instanceof ChipStatusError && REFUSED.includes(error.status)) return undefined
    throw error
  }
}

const isUnlocked = ({ access }: FileSettings): boolean =>
  access.write === 'free' || access.readWrite === 'free' || access.change === 'free'

/** The factory locks the CC file; this locks it again on a chip where somebody unlocked it. */
function* lockCapabilities(plan: Plan, deps: ApplyDeps): Script<void> {
  try {
    yield* changeFileSettings(yield* openWithTarget(plan, deps), CC_FILE, CC_SETTINGS)
  } catch (error) {
    if (error instanceof ChipError)
      throw new ReadBackMismatch('its capability file is writable without a key', { cause: error })
    throw error
  }
}
