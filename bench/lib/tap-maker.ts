import { randomBytes } from 'node:crypto'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { an10922, chipKeyInput } from '../../src/nfc/ntag424/diversify.ts'
import { encryptPiccData, sunMac } from '../../src/nfc/ntag424/sun.ts'

interface KeySet {
  id: number
  metaReadKey: string
  fileReadKey: string
}

/** Makes the query strings that the chips of a key set (an10922, MACed from d) show; many, with ciphers kept. */
export class TapMaker {
  readonly #id: string
  readonly #metaRead: AesKey
  readonly #master: AesKey
  readonly #keys = new Map<string, AesKey>()

  constructor(set: KeySet) {
    this.#id = String(set.id)
    this.#metaRead = new AesKey(Buffer.from(set.metaReadKey, 'hex'))
    this.#master = new AesKey(Buffer.from(set.fileReadKey, 'hex'))
  }

  /** @param uidHex 14 hex digits */
  query(uidHex: string, counter: number): string {
    const tap = { uid: Buffer.from(uidHex, 'hex'), counter, mode: 'aes' as const }
    const e = encryptPiccData(this.#metaRead, tap, randomBytes(5)).toString('hex').toUpperCase()
    const text = `d=${this.#id}&e=${e}&c=`
    const c = sunMac(this.#fileKey(uidHex, tap.uid), tap, text)
    return `${text}${c.toString('hex').toUpperCase()}`
  }

  /** Of a chip whose keys nobody has set: all zeros, and a MAC of no text. @returns hex digits */
  withFactoryKeys(uidHex: string, counter: number): { e: string; c: string } {
    const tap = { uid: Buffer.from(uidHex, 'hex'), counter, mode: 'aes' as const }
    const key = new AesKey(Buffer.alloc(16))
    const e = encryptPiccData(key, tap, randomBytes(5))
    return { e: e.toString('hex'), c: sunMac(key, tap, '').toString('hex') }
  }

  #fileKey(uidHex: string, uid: Buffer): AesKey {
    const kept = this.#keys.get(uidHex)
    if (kept) return kept
    const input = chipKeyInput({ uid, systemIdentifier: Buffer.alloc(0), generation: 0 })
    const key = new AesKey(an10922(this.#master, input))
    this.#keys.set(uidHex, key)
    return key
  }
}
