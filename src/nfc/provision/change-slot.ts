import { changeKey } from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import type { SecureSession } from '../ntag424/secure-session.ts'
import type { Script } from '../script.ts'
import { ForeignKeyInSlot } from './errors.ts'

const INTEGRITY = 0x911e

/** Changes one of keys 1 to 4. @throws ForeignKeyInSlot when the old key is another */
export function* changeSlot(
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
