import { AesKey } from '../ntag424/cmac.ts'
import { authenticate, getCardUid } from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { MASTER_KEY } from '../ntag424/layout.ts'
import type { Session } from '../ntag424/session.ts'
import type { Script } from '../script.ts'
import { selectApplication } from '../type4.ts'
import { uidToBytes } from '../uid.ts'
import { ChipLocked, ChipWaits, ForeignKeys, WrongChip } from './errors.ts'
import type { Inspection } from './inspect.ts'
import { type KeySource, type KeysOf, keyFrom } from './keys.ts'

export interface ApplyDeps {
  readonly keysOf: KeysOf
  /** Gives RndA. */
  readonly random: (length: number) => Uint8Array
}

const PERMISSION_DENIED = 0x919d
const AUTHENTICATION_DELAY = 0x91ad
const AUTHENTICATION = 0x91ae

/**
 * A session under key 0 of a source, with the chip that was inspected: 3 APDUs, one authentication. Under a key that is
 * no secret of the factory's it proves the chip, as neither what a chip says in plain nor a tap from before can.
 * Changes nothing. @throws WrongChip, ForeignKeys, ChipLocked, ChipWaits
 */
export function* openWithKey(
  { uid, versions }: Pick<Inspection, 'uid' | 'versions'>,
  source: KeySource,
  { keysOf, random }: ApplyDeps,
): Script<Session> {
  const bytes = uidToBytes(uid)
  const session = yield* opened(new AesKey(keyFrom(source, 0, bytes, keysOf)), random, versions)
  // What the chip said in plain may be garbled, or a lie: keys of another UID would be found by nobody.
  if (!(yield* getCardUid(session)).equals(bytes)) throw new WrongChip()
  return session
}

function* opened(key: AesKey, random: ApplyDeps['random'], versions: readonly number[]): Script<Session> {
  try {
    return yield* authenticated(key, random)
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

/** A chip whose application is not selected says the same as one that is locked: that is mended, once. */
function* authenticated(key: AesKey, random: ApplyDeps['random']): Script<Session> {
  try {
    return yield* authenticate(MASTER_KEY, key, random(16))
  } catch (error) {
    if (!(error instanceof ChipStatusError && error.status === PERMISSION_DENIED)) throw error
    yield* selectApplication()
    return yield* authenticate(MASTER_KEY, key, random(16))
  }
}
