import { AesKey, BLOCK } from '../../../nfc/ntag424/cmac.ts'
import { decryptPiccData, type SdmInput } from '../../../nfc/ntag424/sun.ts'
import { uidFromBytes } from '../../../nfc/uid.ts'
import { existingChips } from '../../store/chips/chip-registration.ts'
import { chipsWithMetaKey, countMetaKeys } from '../../store/chips/chips.ts'
import { versionOfChange } from '../../store/database/changes.ts'
import type { Queries } from '../../store/database/database.ts'

/**
 * The UID of a tap is encrypted with the SDMMetaRead key, so a chip with a key of its own is found only by trying all
 * such keys: a thousand take about a millisecond.
 */
const maxOwnMetaKeys = 10_000
export const tooManyMetaKeys = `metaReadKey must not be given: ${maxOwnMetaKeys} chips have one of their own already, which is the limit, since each of their taps is tried with all of them`

/** New chips for whose own keys there is no room; those that are registered have theirs. */
export async function withoutRoom<C extends { readonly uid: string }>(
  trx: Queries,
  chips: readonly C[],
): Promise<ReadonlySet<C>> {
  const room = maxOwnMetaKeys - (await countMetaKeys(trx))
  if (chips.length <= room) return new Set()
  const uids = chips.map(({ uid }) => uid)
  const registered = new Set((await existingChips(trx, uids)).map(({ uid }) => uid))
  return new Set(chips.filter(({ uid }) => !registered.has(uid)).slice(Math.max(0, room)))
}

interface OwnKey {
  readonly uid: string
  readonly sealed: Uint8Array
  readonly key: AesKey
}

/** SDMMetaRead keys of listed chips that do not share their key set's. */
export class OwnMetaKeys {
  readonly #open: (uid: string, sealed: Uint8Array) => Buffer
  /** Those of the last taps first. */
  #keys: OwnKey[] = []
  #version = -1

  constructor(open: (uid: string, sealed: Uint8Array) => Buffer) {
    this.#open = open
  }

  /** @param e what decrypts to the UID; in LRP mode a try takes a hundred times as long, so none is made */
  async claim(db: Queries, e: Buffer): Promise<SdmInput | undefined> {
    if (e.length !== BLOCK) return undefined
    await this.#load(db)
    for (const [at, own] of this.#keys.entries()) {
      const claim = decryptPiccData(own.key, e)
      if (!claim || uidFromBytes(claim.uid) !== own.uid) continue
      if (at > 0) this.#keys.unshift(...this.#keys.splice(at, 1))
      return claim
    }
    return undefined
  }

  async #load(db: Queries): Promise<void> {
    // Read first: rows that are newer than it are only read again.
    const version = await versionOfChange(db, 'keySets')
    if (version === this.#version) return
    const rows = await chipsWithMetaKey(db)
    // An import changes the version again and again, and to open all keys takes a tenth of a second.
    const opened = new Map(this.#keys.map((own) => [own.uid, own]))
    this.#keys = rows.flatMap(({ uid, metaReadKey: sealed }) => {
      if (!sealed) return []
      const known = opened.get(uid)
      if (known && Buffer.compare(known.sealed, sealed) === 0) return [known]
      return [{ uid, sealed, key: new AesKey(this.#open(uid, sealed)) }]
    })
    this.#version = version
  }
}
