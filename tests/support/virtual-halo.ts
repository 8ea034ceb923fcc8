import { createECDH, createPrivateKey, randomBytes, sign } from 'node:crypto'
import { TYPE_4_ATR, type VirtualChip } from '../../src/nfc/emulator/card.ts'
import { TapView } from '../../src/nfc/emulator/files.ts'
import { readBinary, type Selection, select } from '../../src/nfc/emulator/iso-commands.ts'
import { factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { Refusal, STATUS, withStatus } from '../../src/nfc/emulator/status.ts'
import { uriFile } from '../../src/nfc/ndef.ts'

/** Signatures lie in a field of this size, and what was there before shows behind a shorter one. */
const SIGNATURE_FIELD = 72

/**
 * A HaLo tag as far as a tap goes: a Type 4 tag whose URL has a counter and a signature, made anew each time that
 * its file is selected. Source: libhalo, docs/halo-command-set.md (sign_random)
 */
export class VirtualHalo implements VirtualChip {
  readonly atr = TYPE_4_ATR
  counter = 0
  readonly #baseUrl: string
  readonly #records: ((url: string) => Buffer) | undefined
  readonly #keys = [createECDH('secp256k1'), createECDH('secp256k1')] as const
  readonly #selection: Selection = { application: false, file: undefined }
  #file: Buffer = Buffer.alloc(2)

  /** @param records replaces the record of the URL; NLEN is put before them */
  constructor(baseUrl = 'https://nfc.example/', records?: (url: string) => Buffer) {
    this.#baseUrl = baseUrl
    this.#records = records
    for (const key of this.#keys) key.generateKeys()
  }

  /** 65 bytes each, uncompressed: keys 1 and 2. */
  get publicKeys(): [Buffer, Buffer] {
    return [this.#keys[0].getPublicKey(), this.#keys[1].getPublicKey()]
  }

  powerOff(): void {
    this.#selection.application = false
    this.#selection.file = undefined
  }

  process(apdu: Uint8Array): Buffer {
    const bytes = Buffer.from(apdu)
    const [cla, ins, p1 = 0, p2 = 0, length = 0] = bytes
    try {
      if (cla !== 0x00) throw new Refusal('isoClass')
      if (ins === 0xa4) {
        select(this.#selection, p1, p2, bytes.subarray(5, 5 + length))
        if (this.#selection.file === 2) this.#tap()
        return withStatus(STATUS.isoDone)
      }
      if (ins !== 0xb0) throw new Refusal('isoUnknown')
      const asked = { offset: (p1 << 8) | p2, le: length, authenticated: false }
      return withStatus(STATUS.isoDone, this.#read(asked))
    } catch (error) {
      if (error instanceof Refusal) return withStatus(error.status)
      throw error
    }
  }

  #read(asked: { offset: number; le: number; authenticated: boolean }): Buffer {
    // The rules of reading are every Type 4 tag's; the file alone is another.
    const memory = factoryMemory(Buffer.alloc(7))
    const files = new Map([
      ...memory.files,
      [2, { bytes: this.#file, settings: Buffer.from('00E0E0', 'hex') }],
    ])
    return readBinary(
      { ...memory, files },
      new TapView({ ...memory, files }, randomBytes),
      this.#selection,
      asked,
    )
  }

  #tap(): void {
    this.counter += 1
    const rnd = randomBytes(32)
    rnd.writeUInt32BE(this.counter)
    const signature = sign(
      'sha256',
      Buffer.concat([Buffer.from('\x19Attest counter pk2:\n'), rnd]),
      this.#key2(),
    )
    const rndsig = Buffer.concat([signature, Buffer.alloc(SIGNATURE_FIELD, 0x5a)]).subarray(
      0,
      SIGNATURE_FIELD,
    )
    const [pk1, pk2] = this.publicKeys.map((key) => hex(key))
    const url =
      `${this.#baseUrl}?av=A02.03.000001.SE.0&v=01.C5.000007.DEADBEEF&pk1=${pk1}&pk2=${pk2}` +
      `&rnd=${hex(rnd)}&rndsig=${hex(rndsig)}&cmd=&res=`
    const message = this.#records?.(url)
    this.#file = message
      ? Buffer.concat([Buffer.of(message.length >> 8, message.length), message])
      : uriFile(url).bytes
  }

  #key2() {
    const [, key] = this.#keys
    const point = key.getPublicKey()
    const part = (bytes: Buffer): string => bytes.toString('base64url')
    const d = Buffer.concat([Buffer.alloc(32), key.getPrivateKey()]).subarray(-32)
    const [x, y] = [part(point.subarray(1, 33)), part(point.subarray(33))]
    return createPrivateKey({ key: { kty: 'EC', crv: 'secp256k1', x, y, d: part(d) }, format: 'jwk' })
  }
}

function hex(bytes: Buffer): string {
  return bytes.toString('hex').toUpperCase()
}
