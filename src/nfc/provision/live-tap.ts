import { NdefFormatError, parseNdef, uriIn } from '../ndef.ts'
import { AesKey } from '../ntag424/cmac.ts'
import { ChipStatusError } from '../ntag424/errors.ts'
import { MIRRORED } from '../ntag424/file-settings.ts'
import { piccLength } from '../ntag424/template/file.ts'
import { Matcher, queryOf } from '../ntag424/template/match.ts'
import { parseTemplate, TAMPER_PARAMETER } from '../ntag424/template/parse.ts'
import { claimOf, isLoopStatus, proveTap } from '../ntag424/template/tap.ts'
import type { Script } from '../script.ts'
import { readNdefFile } from '../type4.ts'
import { uidFromBytes, uidToBytes } from '../uid.ts'
import { type KeysOf, keyFrom, type Plan, type TargetFile, targetFile } from './plan.ts'

/** A verified tap on the reader. Never log it. */
export interface LiveTap {
  readonly url: string
  readonly counter: number
  /** Permanent and current status of a TagTamper's loop. */
  readonly status: string | undefined
  /** Decrypted. */
  readonly fileData: Buffer | undefined
}

interface TapCheck {
  /** True if the file is as planned, apart from the parts that the chip fills in. */
  readonly asPlanned: boolean
  /** Defined if its MAC proves that the chip has the plan's UID and keys 1 and 2 of the plan's target. */
  readonly tap: LiveTap | undefined
  /** The chip refused to be read. With settings that let everybody read it, its counter is at its end. */
  readonly isRefused: boolean
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
    // There is no message, so the file is not as planned; or reading needs a key.
    if (error instanceof ChipStatusError || error instanceof NdefFormatError)
      return { asPlanned: false, tap: undefined, isRefused: error instanceof ChipStatusError }
    throw error
  }
  const tap = verifiedTap(file, plan, keysOf)
  const isLrp = plan.template?.lrp
  const isSame = withoutMirrors(file, target, isLrp).equals(withoutMirrors(planned(target), target, isLrp))
  return { asPlanned: isSame && (tap === undefined || hasData(tap, target)), tap, isRefused: false }
}

/** True if the chip encrypts the planned data. */
function hasData({ fileData }: LiveTap, { fileData: expected, settings: { sdm } }: TargetFile): boolean {
  if (!fileData || !expected) return fileData === expected
  const shown = Buffer.from(fileData)
  const statusAt = (sdm?.tamperOffset ?? 0) - (sdm?.encrypted?.offset ?? 0)
  if (sdm?.tamperOffset !== undefined && statusAt >= 0 && statusAt < shown.length)
    expected.copy(shown, statusAt, statusAt, statusAt + MIRRORED.tamper)
  return shown.equals(expected)
}

function verifiedTap(file: Buffer, plan: Plan, keysOf: KeysOf): LiveTap | undefined {
  const { uid, target } = plan
  const url = urlIn(file)
  if (!plan.template || target === 'factory' || url === undefined) return undefined
  const template = parseTemplate(plan.template.text, plan.template.tamperAt)
  const query = queryOf(url)
  const match = new Matcher(template.parameters).match(query)
  if (!match.ok) return undefined
  const bytes = uidToBytes(uid)
  const key = (keyNo: number): AesKey => new AesKey(keyFrom(target, keyNo, bytes, keysOf))
  const claim = claimOf(match.values, key(META_READ))
  if (!claim || uidFromBytes(claim.uid) !== uid) return undefined
  const t = query[TAMPER_PARAMETER]
  const tap = proveTap({
    template,
    keySet: String(target.keySet),
    values: match.values,
    claim,
    fileRead: key(FILE_READ),
    loop: plan.template.tamper && isLoopStatus(t) ? [t] : undefined,
  })
  return tap && { url, ...tap }
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

function withoutMirrors(file: Buffer, { settings: { sdm } }: TargetFile, lrp = false): Buffer {
  const out = Buffer.from(file)
  const blank = (at: number | undefined, length: number): void => {
    // A shorter file has no mirror there.
    if (at !== undefined && at + length <= out.length) out.fill('0', at, at + length)
  }
  blank(sdm?.uidOffset, MIRRORED.uid)
  blank(sdm?.counterOffset, MIRRORED.counter)
  blank(sdm?.piccDataOffset, piccLength(lrp))
  blank(sdm?.encrypted?.offset, sdm?.encrypted?.length ?? 0)
  blank(sdm?.tamperOffset, MIRRORED.tamper)
  blank(sdm?.macOffset, MIRRORED.mac)
  return out
}
