import { Refusal } from './status.ts'

// The chip's parser of file settings, from the tables of NT4H2421Gx s10.7.1. It shares no code with the reader's side
// (ntag424/file-settings.ts), so that it rejects mistakes made there.

export const FREE = 0xe
export const NEVER = 0xf

export type ParsedSettings = ReturnType<typeof parseSettings>
export type ParsedSdm = NonNullable<ParsedSettings['sdm']>

const UID_DIGITS = 14
const COUNTER_DIGITS = 6
const PICC_DIGITS = 32
/** PICCData has 24 bytes in LRP mode: s9.3.4.2. */
const LRP_PICC_DIGITS = 48
const TAMPER_CHARACTERS = 2
const MAC_DIGITS = 16

/** @param file its number, since only file 2 supports SDM @throws Refusal length or parameter */
export function parseSettings(
  bytes: Buffer,
  file: number,
  fileSize: number,
  { lrp = false, hasLoop = false }: { readonly lrp?: boolean; readonly hasLoop?: boolean } = {},
) {
  let at = 0
  const byte = (): number => {
    const value = bytes[at]
    if (value === undefined) throw new Refusal('length')
    at += 1
    return value
  }
  const three = (): number => byte() | (byte() << 8) | (byte() << 16)
  const demand = (isMet: boolean): void => {
    if (!isMet) throw new Refusal('parameter')
  }
  const option = byte()
  const [low, high] = [byte(), byte()]
  const rights = { readWrite: low >> 4, change: low & 15, read: high >> 4, write: high & 15 }
  demand((option & 0xbc) === 0)
  demand(Object.values(rights).every((right) => right <= 4 || right >= FREE))
  // 0 plain, 1 MAC, 3 full.
  const mode = (option & 3) === 2 ? 0 : option & 3
  if ((option & 0x40) === 0) {
    if (at !== bytes.length) throw new Refusal('length')
    return { mode, ...rights, sdm: undefined }
  }
  if (file !== 2) throw new Refusal('permissionDenied')
  const options = byte()
  const [returns, reads] = [byte(), byte()]
  const [uid, counter, limited, enc] = [0x80, 0x40, 0x20, 0x10].map((bit) => (options & bit) !== 0)
  const [metaRead, fileRead, counterRead] = [reads >> 4, reads & 15, returns & 15]
  const tamper = (options & 0x08) !== 0
  demand((options & 0x07) === 1 && (!tamper || hasLoop))
  demand(returns >> 4 === 0xf)
  demand([metaRead, fileRead, counterRead].every((right) => right <= 4 || right >= FREE))
  demand(fileRead !== FREE)
  const hasMac = fileRead !== NEVER
  const uidOffset = uid && metaRead === FREE ? three() : undefined
  const counterOffset = counter && metaRead === FREE ? three() : undefined
  const piccOffset = metaRead <= 4 ? three() : undefined
  const tamperOffset = tamper ? three() : undefined
  const macInputOffset = hasMac ? three() : undefined
  const encOffset = hasMac && enc ? three() : undefined
  const encLength = hasMac && enc ? three() : undefined
  const macOffset = hasMac ? three() : undefined
  const limit = limited ? three() : undefined
  if (at !== bytes.length) throw new Refusal('length')

  // Table 71: nothing may refer to a mirror that is off.
  demand(!limited || counter === true)
  demand(metaRead === NEVER || uid === true || counter === true)
  demand(metaRead !== NEVER || uid === false)
  demand(counterRead === NEVER || counter === true)
  demand(!enc || (hasMac && uid === true && counter === true))
  if (macOffset !== undefined && macInputOffset !== undefined) {
    demand(macInputOffset <= macOffset)
    demand(macOffset + MAC_DIGITS <= fileSize)
    if (encOffset !== undefined && encLength !== undefined)
      demand(
        encLength >= 32 &&
          encLength % 32 === 0 &&
          encOffset >= macInputOffset &&
          encOffset + encLength <= macOffset,
      )
  }
  // NT4H2421Tx s9.3.5: the status is encrypted where it lies in the plain half of encrypted data.
  const inside =
    tamperOffset !== undefined &&
    encOffset !== undefined &&
    encLength !== undefined &&
    tamperOffset >= encOffset &&
    tamperOffset + TAMPER_CHARACTERS <= encOffset + encLength / 2
  // The offset FFFFFF means no plain counter.
  const spans = [
    span(uidOffset, UID_DIGITS),
    span(counterOffset === 0xffffff ? undefined : counterOffset, COUNTER_DIGITS),
    span(piccOffset, lrp ? LRP_PICC_DIGITS : PICC_DIGITS),
    span(encOffset, encLength ?? 0),
    span(macOffset, MAC_DIGITS),
    span(inside ? undefined : tamperOffset, TAMPER_CHARACTERS),
  ].filter((one) => one !== undefined)
  for (const one of spans) {
    demand(one.end <= fileSize)
    demand(spans.every((other) => other === one || other.end <= one.start || one.end <= other.start))
  }
  return {
    mode,
    ...rights,
    sdm: {
      uid: uid === true,
      counter: counter === true,
      metaRead,
      fileRead,
      counterRead,
      uidOffset,
      counterOffset: counterOffset === 0xffffff ? undefined : counterOffset,
      piccOffset,
      tamperOffset,
      macInputOffset,
      macOffset,
      encOffset,
      encLength,
      limit,
    },
  }
}

function span(start: number | undefined, length: number): { start: number; end: number } | undefined {
  return start === undefined ? undefined : { start, end: start + length }
}
