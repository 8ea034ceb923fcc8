import { NdefFormatError, parseNdef, uriIn } from '../ndef.ts'
import { AesKey } from '../ntag424/cmac.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { MIRRORED } from '../ntag424/file-settings.ts'
import { decryptPiccData, macInputText, verifySunMac } from '../ntag424/sun.ts'
import { tapIn } from '../ntag424/url-template.ts'
import type { Script } from '../script.ts'
import { readNdefFile } from '../type4.ts'
import { uidFromBytes, uidToBytes } from '../uid.ts'
import { type KeysOf, keyFrom, type Plan, type TargetFile, targetFile } from './plan.ts'

/** A verified tap on the reader. Never log it. */
export interface LiveTap {
  readonly url: string
  readonly e: string
  readonly c: string
  readonly d: string | undefined
  /** The status of a TagTamper's loop. */
  readonly t: string | undefined
  readonly counter: number
}

interface TapCheck {
  /** True if the file is as planned, apart from the parts that the chip fills in. */
  readonly asPlanned: boolean
  /** Defined if its MAC proves that the chip has the plan's UID and keys 1 and 2 of the plan's target. */
  readonly tap: LiveTap | undefined
}

const FILE_READ = 1
const META_READ = 2

/** Taps the chip, which raises its counter, and compares the result with the plan. No authentication. */
export function* checkTap(plan: Plan, keysOf: KeysOf): Script<TapCheck> {
  const target = targetFile(plan)
  let file: Buffer
  try {
    file = yield* readNdefFile(planned(target).length)
  } catch (error) {
    // Reading needs a key, or there is no message: either way the file is not as planned.
    if (error instanceof ChipStatusError || error instanceof NdefFormatError)
      return { asPlanned: false, tap: undefined }
    throw error
  }
  return {
    asPlanned: withoutMirrors(file, target).equals(planned(target)),
    tap: verifiedTap(file, plan, keysOf),
  }
}

function verifiedTap(file: Buffer, { uid, target, template }: Plan, keysOf: KeysOf): LiveTap | undefined {
  const url = urlIn(file)
  const read = template && url !== undefined ? tapIn(url, template.names) : undefined
  if (!template || url === undefined || read === undefined) return undefined
  const bytes = uidToBytes(uid)
  const key = (keyNo: number): AesKey => new AesKey(keyFrom(target, keyNo, bytes, keysOf))
  const tap = decryptPiccData(key(META_READ), Buffer.from(read.e, 'hex'))
  if (!tap || uidFromBytes(tap.uid) !== uid) return undefined
  const text = macInputText({ ...template, d: read.d, e: read.e, t: template.tamper && read.t })
  if (!verifySunMac(key(FILE_READ), tap, text, Buffer.from(read.c, 'hex'))) return undefined
  return { url, ...read, counter: tap.counter }
}

function urlIn(file: Buffer): string | undefined {
  try {
    return uriIn(parseNdef(file.subarray(2)))
  } catch (error) {
    if (error instanceof NdefFormatError) return undefined
    throw error
  }
}

/** NLEN and the message; for an empty file just NLEN. */
function planned({ ndef }: TargetFile): Buffer {
  return ndef.subarray(0, 2 + ndef.readUInt16BE(0))
}

function withoutMirrors(file: Buffer, { settings: { sdm } }: TargetFile): Buffer {
  const out = Buffer.from(file)
  const blank = (at: number | undefined, length: number): void => {
    // A shorter file has no mirror there.
    if (at !== undefined && at + length <= out.length) out.fill('0', at, at + length)
  }
  blank(sdm?.piccDataOffset, MIRRORED.piccData)
  blank(sdm?.tamperOffset, MIRRORED.tamper)
  blank(sdm?.macOffset, MIRRORED.mac)
  return out
}
