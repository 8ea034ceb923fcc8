import { AesKey } from '../ntag424/cmac.ts'
import { authenticate, changeFileSettings, getFileSettings, getKeyVersion } from '../ntag424/commands.ts'
import { ChipError, ChipStatusError } from '../ntag424/errors.ts'
import { type FileSettings, sameFileSettings } from '../ntag424/file-settings.ts'
import { CC_FILE, KEY_NUMBERS, MASTER_KEY, NDEF_FILE } from '../ntag424/layout.ts'
import type { Session } from '../ntag424/session.ts'
import type { Script } from '../script.ts'
import { selectApplication } from '../type4.ts'
import { uidToBytes } from '../uid.ts'
import { ReadBackMismatch } from './errors.ts'
import { keyFrom, sourceVersion } from './keys.ts'
import { type LiveTap, lookAtTap } from './live-tap.ts'
import type { ApplyDeps } from './open.ts'
import { type Plan, targetFile } from './plan.ts'

/** As the factory has it: read by all, the rest for key 0. */
const CC_SETTINGS: FileSettings = {
  mode: 'plain',
  access: { read: 'free', write: 0, readWrite: 0, change: 0 },
}

/**
 * Proves that a chip is as planned: that it knows key 0, says the versions and settings under MAC, and taps as it
 * shall. Only then is a plan finished. The tap that it returns is for the daemon to take as any other; null after a
 * reset. @throws ReadBackMismatch
 */
export function* readBack(plan: Plan, { keysOf, random }: ApplyDeps): Script<LiveTap | null> {
  yield* selectApplication()
  const session = yield* proveKey0(plan, { keysOf, random })
  const expected = sourceVersion(plan.target)
  for (const keyNo of KEY_NUMBERS) {
    const version = yield* getKeyVersion(keyNo, session)
    if (version !== expected)
      throw new ReadBackMismatch(`key ${keyNo} has version ${version}, not ${expected}`)
  }
  if (!sameFileSettings(yield* getFileSettings(NDEF_FILE, session), targetFile(plan).settings))
    throw new ReadBackMismatch('its NDEF file has other settings')
  yield* lockCapabilities(session)

  yield* selectApplication()
  const { asPlanned, tap } = yield* lookAtTap(plan, keysOf)
  if (!asPlanned) throw new ReadBackMismatch('its NDEF file holds something else')
  if (plan.target === 'factory') return null
  if (!tap) throw new ReadBackMismatch('its tap does not verify')
  return tap
}

function* proveKey0(plan: Plan, { keysOf, random }: ApplyDeps): Script<Session> {
  try {
    const key = keyFrom(plan.target, 0, uidToBytes(plan.uid), keysOf)
    return yield* authenticate(MASTER_KEY, new AesKey(key), random(16))
  } catch (error) {
    if (error instanceof ChipStatusError) throw new ReadBackMismatch('its key 0 is another', { cause: error })
    throw error
  }
}

/** From the factory the CC file is locked already; a chip that somebody opened is closed again. */
function* lockCapabilities(session: Session): Script<void> {
  const { access } = yield* getFileSettings(CC_FILE, session)
  if (access.write !== 'free' && access.readWrite !== 'free' && access.change !== 'free') return
  try {
    yield* changeFileSettings(session, CC_FILE, CC_SETTINGS)
  } catch (error) {
    if (error instanceof ChipError)
      throw new ReadBackMismatch('anybody may write its capability file', { cause: error })
    throw error
  }
}
