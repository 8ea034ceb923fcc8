import { AesKey } from '../ntag424/cmac.ts'
import { getCardUid } from '../ntag424/commands.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { readSignature } from '../ntag424/originality.ts'
import type { SecureSession } from '../ntag424/secure-session.ts'
import { type Script, together } from '../script.ts'
import { changeSlot } from './change-slot.ts'
import { ForeignKeyInSlot, ForeignKeys } from './errors.ts'
import { AUTHENTICATION, authenticatePatiently, type OpenDeps } from './open-with-key.ts'

interface Opened {
  /** The chip's real UID, also when it shows a random one. */
  readonly uid: Buffer
  /** The place in the options of the key that opened it. */
  readonly at: number
  readonly session: SecureSession
}

export interface SlotKeys {
  readonly uid: Buffer
  /** The place in the options of each slot's key. */
  readonly at: readonly number[]
  /** Opened with key 0. */
  readonly session: SecureSession
}

/**
 * Opens a session with the first of several keys that is the chip's key 0. Every other one costs a failed
 * authentication, so the likely ones come first, and there are few. @throws ForeignKeys, ChipLocked,
 * AuthenticationDelayed
 */
export function* openWithOne(
  versions: readonly number[],
  keys: readonly Buffer[],
  random: OpenDeps['random'],
): Script<Opened> {
  let cause: unknown
  for (const [at, key] of keys.entries()) {
    try {
      const session = yield* authenticatePatiently(new AesKey(key), random)
      return { uid: yield* getCardUid(session), at, session }
    } catch (error) {
      if (!(error instanceof ChipStatusError && error.status === AUTHENTICATION)) throw error
      cause = error
    }
  }
  throw new ForeignKeys(versions, { cause })
}

/**
 * Finds which of several keys is in each slot, and changes none: keys 1 to 4 are written over themselves, which the chip
 * refuses for a wrong old key without counting it as a failed authentication. A refusal ends the session, so it is
 * opened again. @param options for each slot, the likely ones first
 * @throws ForeignKeys for key 0, ForeignKeyInSlot for others; as openWithOne
 */
export function* proveKeys(
  versions: readonly number[],
  options: readonly (readonly Buffer[])[],
  random: OpenDeps['random'],
): Script<SlotKeys> {
  const first = yield* openWithOne(versions, options[0] ?? [], random)
  const at = [first.at, 0, 0, 0, 0]
  let { session } = first
  const master = options[0]?.slice(first.at, first.at + 1) ?? []
  for (let from = 1; ; ) {
    try {
      yield* together(
        ([1, 2, 3, 4] as const)
          .filter((keyNo) => keyNo >= from)
          .map((keyNo) => {
            const key = options[keyNo]?.[at[keyNo] ?? 0] ?? Buffer.alloc(0)
            return changeSlot(session, keyNo, key, key, versions[keyNo] ?? 0)
          }),
      )
      return { uid: first.uid, at, session }
    } catch (error) {
      if (!(error instanceof ForeignKeyInSlot)) throw error
      from = error.keyNo
      const next = (at[from] ?? 0) + 1
      if (next >= (options[from]?.length ?? 0)) throw error
      at[from] = next
      session = (yield* openWithOne(versions, master, random)).session
    }
  }
}

/** A chip with a random UID gives its signature under a key alone. */
export function* identify(
  versions: readonly number[],
  keys: readonly Buffer[],
  random: OpenDeps['random'],
): Script<{ readonly uid: Buffer; readonly signature: Buffer | undefined }> {
  const { uid, session } = yield* openWithOne(versions, keys, random)
  return { uid, signature: yield* readSignature(session) }
}
