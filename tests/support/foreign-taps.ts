import { randomBytes } from 'node:crypto'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { encryptPiccData, sdmSessionKeys, sunMac } from '../../src/nfc/ntag424/sun.ts'

/** A chip that another tool set up, by its template and its own keys. */
export interface ForeignChip {
  /** With scheme, host, and path. `^` marks where the MAC begins. */
  readonly template: string
  /** 14 hex digits. */
  readonly uid: string
  readonly metaRead: AesKey
  /** The chip's own. */
  readonly fileRead: AesKey
  /** Whole blocks of 16 bytes; encrypted at {enc}. */
  readonly fileData?: Buffer
  readonly tamper?: string
  readonly mode?: 'aes' | 'lrp'
}

/** The URL that it shows at its tap number `counter`, written from the data sheet, not by the verifier's templates. */
export function foreignTap(chip: ForeignChip, counter: number): string {
  const { template, fileRead, metaRead, fileData = Buffer.alloc(0), tamper = 'CC', mode = 'aes' } = chip
  const uid = Buffer.from(chip.uid, 'hex')
  const upper = (bytes: Buffer) => bytes.toString('hex').toUpperCase()
  const littleEndian = Buffer.from([counter & 0xff, (counter >> 8) & 0xff, counter >> 16])
  const session = new AesKey(sdmSessionKeys(fileRead, { uid, counter }).enc)
  const iv = session.encryptBlock(Buffer.concat([littleEndian, Buffer.alloc(13)]))
  const text = template
    .replace('{picc}', () =>
      upper(encryptPiccData(metaRead, { uid, counter, mode }, randomBytes(mode === 'lrp' ? 13 : 5))),
    )
    .replace('{uid}', chip.uid.toUpperCase())
    .replace('{ctr}', counter.toString(16).toUpperCase().padStart(6, '0'))
    .replace('{tt}', tamper)
    .replace('{enc}', () => upper(session.encryptCbc(iv, fileData)))
  const before = text.slice(0, text.indexOf('{mac}'))
  const covered = before.includes('^') ? before.slice(before.indexOf('^') + 1) : ''
  return text.replace('^', '').replace('{mac}', upper(sunMac(fileRead, { uid, counter, mode }, covered)))
}
