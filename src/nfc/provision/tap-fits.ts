import { NdefFormatError } from '../ndef.ts'
import { AesKey } from '../ntag424/cmac.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { MIRRORED, type SdmSettings } from '../ntag424/file-settings.ts'
import { decryptPiccData, type SdmInput, verifySunMac } from '../ntag424/sun.ts'
import type { Script } from '../script.ts'
import { readNdefFile } from '../type4.ts'
import { uidToBytes } from '../uid.ts'
import type { Inspection } from './inspect.ts'

/**
 * Taps a chip, whoever set it up, and tells whether one of the keys that each slot may have made the tap. The file's
 * settings say where things are and which keys made them, so no template is needed, and no authentication.
 * @returns undefined if the chip shows no tap that a key proves
 */
export function* tapFits(
  { uid, ndef: { sdm } }: Pick<Inspection, 'ndef'> & { readonly uid: string | undefined },
  options: readonly (readonly Buffer[])[],
): Script<boolean | undefined> {
  if (typeof sdm?.fileRead !== 'number' || !sdm.uid || !sdm.counter) return undefined
  const { macInputOffset = 0, macOffset = 0, fileRead } = sdm
  const text = yield* shownText(macOffset + MIRRORED.mac)
  const c = text && bytesAt(text, macOffset, MIRRORED.mac)
  if (!text || !c) return undefined
  const macInput = text.subarray(macInputOffset, macOffset).toString('latin1')
  const taps = tapsIn(text, sdm, uid, options)
  return taps?.some((tap) =>
    options[fileRead]?.some((key) => verifySunMac(new AesKey(key), tap, macInput, c)),
  )
}

/** The file's first bytes; undefined if it cannot be read, as when its counter is at its end. */
function* shownText(length: number): Script<Buffer | undefined> {
  try {
    const file = yield* readNdefFile(length)
    return file.length < length ? undefined : file
  } catch (error) {
    if (error instanceof ChipStatusError || error instanceof NdefFormatError) return undefined
    throw error
  }
}

/** What the keys make of the mirrored UID and counter; undefined if there are none. */
function tapsIn(
  text: Buffer,
  { metaRead, piccDataOffset, uidOffset, counterOffset }: SdmSettings,
  uid: string | undefined,
  options: readonly (readonly Buffer[])[],
): readonly SdmInput[] | undefined {
  if (typeof metaRead === 'number' && piccDataOffset !== undefined) {
    const shown = [MIRRORED.piccData, MIRRORED.lrpPiccData].flatMap((length) => {
      const e = bytesAt(text, piccDataOffset, length)
      return e ? [e] : []
    })
    if (shown.length === 0) return undefined
    const keys = options[metaRead] ?? []
    const taps = shown.flatMap((e) => keys.flatMap((key) => decryptPiccData(new AesKey(key), e) ?? []))
    return taps.filter((tap) => uid === undefined || tap.uid.equals(uidToBytes(uid)))
  }
  if (uidOffset === undefined || counterOffset === undefined) return undefined
  const [plainUid, counter] = [
    bytesAt(text, uidOffset, MIRRORED.uid),
    bytesAt(text, counterOffset, MIRRORED.counter),
  ]
  if (!plainUid || !counter) return undefined
  const tap = { uid: plainUid, counter: counter.readUIntBE(0, 3) }
  return [
    { ...tap, mode: 'aes' },
    { ...tap, mode: 'lrp' },
  ]
}

function bytesAt(text: Buffer, offset: number, length: number): Buffer | undefined {
  const hex = text.subarray(offset, offset + length).toString('latin1')
  return hex.length === length && /^[0-9A-Fa-f]+$/.test(hex) ? Buffer.from(hex, 'hex') : undefined
}
