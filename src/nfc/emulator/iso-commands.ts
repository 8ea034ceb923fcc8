import { FREE } from './file-rules.ts'
import { fileOf, type TapView } from './files.ts'
import type { ChipMemory } from './memory.ts'
import { Refusal } from './status.ts'

// SELECT, READ BINARY and UPDATE BINARY, as phones use them. Source: NT4H2421Gx s10.9.

const APPLICATION_NAME = Buffer.from('D2760000850101', 'hex')
const FILE_IDS: ReadonlyMap<number, number> = new Map([
  [0xe103, 1],
  [0xe104, 2],
  [0xe105, 3],
])
const MASTER_FILE = 0x3f00
const APPLICATION = 0xe110

/** Cleared when the power goes. */
export interface Selection {
  application: boolean
  file: number | undefined
}

/** @returns true if a directory was selected, which ends any session */
export function select(selection: Selection, p1: number, p2: number, data: Buffer): boolean {
  if (p2 !== 0x00 && p2 !== 0x0c) throw new Refusal('isoParameters')
  if (p1 === 0x04) {
    if (!data.equals(APPLICATION_NAME)) throw new Refusal('isoNotFound')
    return enter(selection, true)
  }
  if (p1 !== 0x00 && p1 !== 0x02) throw new Refusal('isoParameters')
  if (data.length !== 2) throw new Refusal('isoLength')
  const id = data.readUInt16BE()
  if (id === MASTER_FILE) return enter(selection, false)
  if (id === APPLICATION) return enter(selection, true)
  const file = FILE_IDS.get(id)
  if (file === undefined || !selection.application) throw new Refusal('isoNotFound')
  selection.file = file
  return false
}

function enter(selection: Selection, application: boolean): true {
  selection.application = application
  selection.file = undefined
  return true
}

/** @param le maximum length; 0 means up to 256 bytes */
export function readBinary(
  memory: ChipMemory,
  taps: TapView,
  { file }: Selection,
  { offset, le, authenticated }: { offset: number; le: number; authenticated: boolean },
): Buffer {
  if (file === undefined) throw new Refusal('isoConditions')
  const { rules, bytes } = fileOf(memory, file)
  // Reading with a key requires ReadData.
  if (rules.read !== FREE && rules.readWrite !== FREE) throw new Refusal('isoSecurity')
  if (offset >= bytes.length) throw new Refusal('isoParameters')
  const length = le === 0 ? Math.min(256, bytes.length - offset) : le
  if (offset + length > bytes.length) throw new Refusal('isoLength')
  const shown = authenticated ? bytes : taps.bytes(file, new Refusal('isoConditions'))
  return Buffer.from(shown.subarray(offset, offset + length))
}

export function updateBinary(
  memory: ChipMemory,
  { file }: Selection,
  { offset, data }: { offset: number; data: Buffer },
): void {
  if (file === undefined) throw new Refusal('isoConditions')
  const { rules, bytes } = fileOf(memory, file)
  if (rules.write !== FREE && rules.readWrite !== FREE) throw new Refusal('isoSecurity')
  if (data.length === 0 || offset + data.length > bytes.length) throw new Refusal('isoLength')
  data.copy(bytes, offset)
}
