import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { readRegular, replaceFile } from '../../../values/files.ts'
import { DataDirProblem, databaseFile } from '../data-dir/data-dir.ts'

// A restore is prepared in a folder, and then takes effect by writing one file, the plan: before it, the old data is
// valid, after it, the new. The moves that follow are completed by the next start or restore if they are interrupted.

/** All files in it are moved into the data directory. */
const stagingName = 'restoring'
const planName = 'restore.json'

/** Files that a restore replaces. The log, backups, the first admin token, and other files stay. */
const replaced = [
  ...['tapchip.db', 'tapchip.db-wal', 'tapchip.db-shm', 'data.key', 'data.key.enc'],
  ...['badge-images', 'dev-chain', 'instance', 'server'],
] as const

const plan = z.object({
  from: z.string().max(4096),
  madeAt: z.iso.datetime().nullable(),
  chips: z.number(),
  /** A folder for the old data; null if there was none. */
  keptAside: z
    .string()
    .regex(/^before-restore-[0-9TZ.-]+$/)
    .nullable(),
  old: z.array(z.enum(replaced)),
  new: z.array(z.enum(replaced)),
})
export type RestorePlan = Readonly<z.infer<typeof plan>>

/** An empty folder on the same file system as the data. */
export function stageRestore(dataDir: string): string {
  const staging = join(dataDir, stagingName)
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  return staging
}

/** @returns false, without a change, if it has taken effect */
export function dropStaged(dataDir: string): boolean {
  if (existsSync(join(dataDir, planName))) return false
  rmSync(join(dataDir, stagingName), { recursive: true, force: true })
  return true
}

/** From here on, the new data is valid. @param at ISO 8601 */
export function commitRestore(
  dataDir: string,
  { at, ...about }: Pick<RestorePlan, 'from' | 'madeAt' | 'chips'> & { at: string },
): RestorePlan {
  const old = replaced.filter((name) => existsSync(join(dataDir, name)))
  const staged = new Set(readdirSync(join(dataDir, stagingName)))
  const keptAside =
    old.length === 0 ? null : unusedFolder(dataDir, `before-restore-${at.replaceAll(':', '-')}`)
  flushAll(join(dataDir, stagingName))
  const made: RestorePlan = { ...about, keptAside, old, new: replaced.filter((name) => staged.has(name)) }
  replaceFile(join(dataDir, planName), `${JSON.stringify(made, null, 2)}\n`, { flush: true })
  return made
}

const unusedFolder = (dataDir: string, base: string): string => {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`
    if (!existsSync(join(dataDir, name))) return name
  }
}

/**
 * Completes a restore that has taken effect, and removes what is left of one that has not. Call it under the lock.
 * @returns the completed one, if any @throws DataDirProblem if a restore into an empty directory was interrupted
 */
export function completeRestore(dataDir: string, { isStart }: { isStart: boolean }): RestorePlan | undefined {
  const path = join(dataDir, planName)
  if (!existsSync(path)) {
    const isInterrupted = existsSync(join(dataDir, stagingName))
    // An empty daemon would make it seem that everything is lost.
    if (isStart && isInterrupted && !existsSync(join(dataDir, databaseFile)))
      throw new DataDirProblem(
        `A restore into ${dataDir} was interrupted. Run it again: tapchip restore FILE --data-dir DIR. ` +
          `To start without it, remove ${join(dataDir, stagingName)}.`,
      )
    if (isInterrupted) dropStaged(dataDir)
    return undefined
  }
  const made = readPlan(path)
  if (made.keptAside !== null) {
    const keptAside = join(dataDir, made.keptAside)
    mkdirSync(keptAside, { recursive: true, mode: 0o700 })
    for (const name of made.old)
      if (!existsSync(join(keptAside, name)) && existsSync(join(dataDir, name)))
        renameSync(join(dataDir, name), join(keptAside, name))
    flush(keptAside)
    flush(dataDir)
  }
  for (const name of made.new) {
    const staged = join(dataDir, stagingName, name)
    if (existsSync(staged)) renameSync(staged, join(dataDir, name))
  }
  flush(dataDir)
  rmSync(path)
  dropStaged(dataDir)
  return made
}

/** @throws DataDirProblem */
function readPlan(path: string): RestorePlan {
  const text = readRegular(path)
  try {
    return plan.parse(JSON.parse(text))
  } catch {
    throw new DataDirProblem(
      `${path} should say what a restore has done so far, and does not. Look at what is in the directory: the old data may be in before-restore-…, and the new in ${stagingName}. Move it away, then restore again.`,
    )
  }
}

function flushAll(path: string): void {
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) flushAll(join(path, name))
  flush(path)
}

/** Windows cannot open a folder, and flushes by itself. */
function flush(path: string): void {
  if (process.platform === 'win32') return
  // Reading a pipe in its place would block forever.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
