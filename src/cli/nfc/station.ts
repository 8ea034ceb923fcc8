import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../values/files.ts'
import { type SystemPaths, stateDir } from '../system.ts'

const newId = (): string => `st_${randomBytes(12).toString('hex')}`
const shape = /^st_[0-9a-f]{24}$/

/**
 * A random name for this user on this computer, made once. The daemon hands a chip of ours over to us at once, since
 * whoever held it before is dead.
 * @returns undefined where the state directory cannot be written
 */
export const stationId = (system: SystemPaths): string | undefined => {
  const folder = stateDir(system)
  const path = join(folder, 'station')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Another command that started at the same time may have created it.
    writeFileSync(path, `${newId()}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) return undefined
  }
  try {
    const id = readFileSync(path, 'utf8').trim()
    if (shape.test(id)) return id
    // An empty file, left by a full disk.
    const made = newId()
    replaceFile(path, `${made}\n`)
    return made
  } catch {
    return undefined
  }
}
