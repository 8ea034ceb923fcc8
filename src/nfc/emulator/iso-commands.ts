import { FREE, NEVER, type ParsedSettings } from './file-rules.ts'
import { fileOf, type TapView } from './files.ts'
import type { ChipMemory } from './memory.ts'
import { Refusal } from './status.ts'

// SELECT, READ BINARY and UPDATE BINARY, as phones use them. Source: NT4H2421Gx s10.9.

const APPLICATION_NAME = Buffer.from('D2760000850101', 'hex')
const MASTER_NAME = Buffer.from('D2760000850100', 'hex')
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
    if (data.equals(MASTER_NAME)) return enter(selection, false)
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

/** @param le maximum length; 0 means up to 256 bytes. Source: NT4H2421Gx s10.9.2 Tables 87 and 89 */
export function readBinary(
  memory: ChipMemory,
  taps: TapView,
  { file }: Selection,
  { offset, le, authenticated }: { offset: number; le: number; authenticated: boolean },
): Buffer {
  if (file === undefined) throw new Refusal('isoConditions')
  const { rules, bytes } = fileOf(memory, file)
  // This command has no secure messaging, so a session ends with it.
  if (authenticated || !readable(rules)) throw new Refusal('isoSecurity')
  if (offset >= bytes.length) throw new Refusal('isoParameters')
  const shown = taps.bytes(file, 'iso')
  return Buffer.from(shown.subarray(offset, offset + (le === 0 ? 256 : le)))
}

/** SDMFileRead opens a file too: s8.2.3.4. */
function readable({ read, readWrite, sdm }: ParsedSettings): boolean {
  return read === FREE || readWrite === FREE || (sdm !== undefined && sdm.fileRead !== NEVER)
}

/** Source: NT4H2421Gx s10.9.3 Table 92 */
export function updateBinary(
  memory: ChipMemory,
  { file }: Selection,
  { offset, data, authenticated }: { offset: number; data: Buffer; authenticated: boolean },
): void {
  if (file === undefined) throw new Refusal('isoConditions')
  const { rules, bytes } = fileOf(memory, file)
  if (authenticated || (rules.write !== FREE && rules.readWrite !== FREE)) throw new Refusal('isoSecurity')
  if (data.length === 0) throw new Refusal('isoLength')
  if (offset + data.length > bytes.length) throw new Refusal('isoConditions')
  data.copy(bytes, offset)
}
