import { randomBytes } from 'node:crypto'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { an10922, chipKeyInput } from '../../src/nfc/ntag424/diversify.ts'
import { encryptPiccData, sunMac } from '../../src/nfc/ntag424/sun.ts'
import { macInput } from '../../src/nfc/ntag424/template/match.ts'
import { parseTemplate, templateOfShortForm } from '../../src/nfc/ntag424/template/parse.ts'

/** A key set as a seed file has it. */
export interface SeedKeySet {
  id: number
  metaReadKey: string
  fileReadKey: string
  diversification: 'none' | 'an10922' | 'listed'
  systemIdentifier?: string
  macInputFrom: 'd' | 'e' | null
  parameters?: { e?: string; c?: string; d?: string }
}

/** The template of a key set in its short form. */
export const textOf = ({ parameters, macInputFrom }: SeedKeySet): string =>
  templateOfShortForm({ parameters: { e: 'e', c: 'c', d: 'd', ...parameters }, macInputFrom })

const key = (hex: string): AesKey => new AesKey(Buffer.from(hex, 'hex'))

interface Chip {
  /** 14 hex digits. */
  uid: string
  generation?: number
  /** Of a listed chip. */
  fileReadKey?: string
  mode?: 'aes' | 'lrp'
  /** Of a TagTamper chip: the status of its loop. */
  t?: string
}

/** The parameters that a chip shows at its tap number `counter`. */
export function tap(
  set: SeedKeySet,
  chip: Chip,
  counter: number,
): { d: string; e: string; c: string; t?: string } {
  const uid = Buffer.from(chip.uid, 'hex')
  const mode = chip.mode ?? 'aes'
  const e = encryptPiccData(
    key(set.metaReadKey),
    { uid, counter, mode },
    randomBytes(mode === 'lrp' ? 13 : 5),
  )
    .toString('hex')
    .toUpperCase()
  const template = parseTemplate(textOf(set))
  const text = macInput(template, String(set.id), { picc: e, mac: '' }, chip.t ?? '')
  const c = sunMac(fileKey(set, chip), { uid, counter, mode }, text).toString('hex').toUpperCase()
  return { d: String(set.id), e, ...(chip.t === undefined ? {} : { t: chip.t }), c }
}

function fileKey(set: SeedKeySet, { uid, generation = 0, fileReadKey }: Chip): AesKey {
  if (set.diversification === 'none') return key(set.fileReadKey)
  if (set.diversification === 'listed') return key(fileReadKey ?? '')
  const systemIdentifier = Buffer.from(set.systemIdentifier ?? '', 'hex')
  const input = chipKeyInput({ uid: Buffer.from(uid, 'hex'), systemIdentifier, generation })
  return new AesKey(an10922(Buffer.from(set.fileReadKey, 'hex'), input))
}

/** The path of the page that a chip's URL opens. */
export const tapPath = (parameters: Record<string, string>, path = '/t'): string =>
  `${path}?${new URLSearchParams(parameters).toString()}`
