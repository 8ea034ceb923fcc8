import { AesKey } from '../ntag424/cmac.ts'
import { authenticate, authenticateLrp, getCardUid } from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { MASTER_KEY } from '../ntag424/layout.ts'
import type { SecureSession } from '../ntag424/secure-session.ts'
import { type Script, together } from '../script.ts'
import { selectApplication } from '../type4.ts'
import { uidToBytes } from '../uid.ts'
import { AuthenticationDelayed, ChipLocked, ForeignKeys, WrongChip } from './errors.ts'
import type { Inspection } from './inspect.ts'
import { type KeySource, type KeysOf, keyFrom } from './plan.ts'

export interface OpenDeps {
  readonly keysOf: KeysOf
  /** Generates RndA. */
  readonly random: (length: number) => Uint8Array
}

const PERMISSION_DENIED = 0x919d
const AUTHENTICATION_DELAY = 0x91ad
export const AUTHENTICATION = 0x91ae
/** A delay grows with the failed attempts; 64 tries take five seconds at 80 ms a round trip. */
const MAX_TRIES = 64

/**
 * Opens a session with the inspected chip under key 0 of a source: 3 APDUs, one authentication, no changes. Except with
 * the factory's public key this proves the chip's identity, unlike plain answers or an earlier tap.
 * @throws WrongChip, ForeignKeys, ChipLocked, AuthenticationDelayed
 */
export function* openWithKey(
  { uid, versions }: Pick<Inspection, 'uid' | 'versions'>,
  source: KeySource,
  { keysOf, random }: OpenDeps,
): Script<SecureSession> {
  const bytes = uidToBytes(uid)
  const session = yield* opened(new AesKey(keyFrom(source, 0, bytes, keysOf)), random, versions)
  // The plain UID may be garbled or forged, and keys derived from a wrong UID would be lost.
  if (!(yield* getCardUid(session)).equals(bytes)) throw new WrongChip()
  return session
}

function* opened(
  key: AesKey,
  random: OpenDeps['random'],
  versions: readonly number[],
): Script<SecureSession> {
  try {
    return yield* authenticatePatiently(key, random)
  } catch (error) {
    if (error instanceof ChipStatusError && error.status === AUTHENTICATION)
      throw new ForeignKeys(versions, { cause: error })
    throw error
  }
}

/**
 * Authenticates with key 0, in the chip's own mode, through a delay and where the application is not selected.
 * @throws ChipStatusError 0x91ae for a wrong key; ChipLocked, AuthenticationDelayed
 */
export function* authenticatePatiently(key: AesKey, random: OpenDeps['random']): Script<SecureSession> {
  let select: 'as it is' | 'now' | 'done' = 'as it is'
  let asMode = authenticate
  for (let tries = 1; ; tries += 1) {
    try {
      if (select !== 'now') return yield* asMode(MASTER_KEY, key, random(16))
      select = 'done'
      const [, session] = yield* together([selectApplication(), authenticate(MASTER_KEY, key, random(16))])
      return session
    } catch (error) {
      if (!(error instanceof ChipStatusError)) throw error
      const { status } = error
      if (status === AUTHENTICATION_DELAY) {
        // The data sheet says to keep trying until the delay is spent (s10.4.1), so waiting would be for nothing.
        if (tries >= MAX_TRIES) throw new AuthenticationDelayed(tries, { cause: error })
        continue
      }
      if (status !== PERMISSION_DENIED) throw error
      // An unselected application gives the same status, as do LRP mode and a locked chip, so each is tried once.
      if (select === 'as it is') select = 'now'
      else if (asMode === authenticate) asMode = authenticateLrp
      else throw lockedFor(error)
    }
  }
}

const lockedFor = (cause: unknown): ChipLocked =>
  new ChipLocked('its key 0 was tried with a wrong key too often, and is blocked for ever', { cause })
