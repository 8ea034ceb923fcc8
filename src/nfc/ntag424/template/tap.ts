import type { AesKey } from '../cmac.ts'
import { decryptFileData, decryptPiccData, type SdmInput, verifySunMac } from '../sun.ts'
import { macInput, type TapValues } from './match.ts'
import { isSlot, type UrlTemplate } from './parse.ts'

/** UID and counter that a tap claims; nothing is proven yet. @returns undefined if it does not decrypt to any */
export function claimOf(values: TapValues, metaRead: AesKey): SdmInput | undefined {
  if (values.picc !== undefined) return decryptPiccData(metaRead, Buffer.from(values.picc, 'hex'))
  return {
    uid: Buffer.from(values.uid ?? '', 'hex'),
    counter: Number.parseInt(values.ctr ?? '', 16),
    mode: 'aes',
  }
}

interface ProvenTap {
  readonly counter: number
  /** Permanent and current status of a TagTamper's loop: C closed, O open, I not measured. */
  readonly status: string | undefined
  /** Decrypted. */
  readonly fileData: Buffer | undefined
}

interface Proof {
  readonly template: UrlTemplate
  /** The value of {keySet}. */
  readonly keySet: string
  readonly values: TapValues
  readonly claim: SdmInput
  readonly fileRead: AesKey
  /** Values of the parameter t that the MAC may cover, where the template has no {tt}; empty: the chip has none. */
  readonly loop?: readonly string[] | undefined
}

/** Verifies the MAC of a tap. @returns undefined if the chip did not make it */
export function proveTap({
  template,
  keySet,
  values,
  claim,
  fileRead,
  loop = [''],
}: Proof): ProvenTap | undefined {
  const mac = Buffer.from(values.mac, 'hex')
  for (const status of shownStatuses(template, values, loop)) {
    const text = macInput(template, keySet, values, status)
    const mode = modesOf(values, claim).find((one) =>
      verifySunMac(fileRead, { ...claim, mode: one }, text, mac),
    )
    if (mode === undefined) continue
    const encrypted = values.enc === undefined ? undefined : Buffer.from(values.enc, 'hex')
    const fileData = encrypted && decryptFileData(fileRead, { ...claim, mode }, encrypted)
    const { tamperByte } = template
    const inData =
      tamperByte === undefined ? undefined : fileData?.toString('latin1', tamperByte, tamperByte + 2)
    return { counter: claim.counter, status: inData ?? (status === '' ? undefined : status), fileData }
  }
  return undefined
}

/** Most likely ones first. */
export const loopStatuses = ['CC', 'OO', 'OC', 'II', 'CO', 'CI', 'OI', 'IC', 'IO']
export const isLoopStatus = (text: unknown): text is string =>
  typeof text === 'string' && /^[COI]{2}$/.test(text)

const none = ['']

function shownStatuses(template: UrlTemplate, { tt }: TapValues, loop: readonly string[]): readonly string[] {
  if (template.covered?.some(isSlot('tt'))) return tt === undefined ? loopStatuses : [tt]
  return template.covered?.some(isSlot('loop')) ? loop : none
}

/** A plain mirror does not show the chip's mode. */
function modesOf({ picc }: TapValues, { mode }: SdmInput): readonly SdmInput['mode'][] {
  if (picc === undefined) return ['aes', 'lrp']
  return mode === 'aes' ? ['aes'] : ['lrp']
}

/** The status of a TagTamper chip's seal according to a tap; null: none. */
export type TamperStatus = 'closed' | 'open' | null

export function tamperStatus(status: string | undefined): TamperStatus {
  if (!isLoopStatus(status)) return null
  if (status.includes('O')) return 'open'
  return status === 'CC' ? 'closed' : null
}

/** A chip's file has 256 bytes, of which the digits of encrypted data take two each. */
const maxData = 128

/** As text where a person can read all of it, and nothing of it looks like hex. */
export function shownData(data: Buffer): string {
  const kept = data.subarray(0, maxData)
  const text = kept.toString('utf8')
  const isText = /^\P{C}*$/u.test(text) && !text.startsWith('0x') && Buffer.from(text).equals(kept)
  return isText ? text : `0x${kept.toString('hex').toUpperCase()}`
}
