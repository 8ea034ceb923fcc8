import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, rmSync } from 'node:fs'
import { replaceFile } from '../../../values/replace-file.ts'
import { type DaemonRecord, isRunning, readRecords, recordsDir } from '../../daemon-record.ts'
import { withFiles } from '../../file-problem.ts'
import type { SystemPaths } from '../../system.ts'

const recordPath = (system: SystemPaths, dataDir: string): string =>
  `${recordsDir(system)}/${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}.json`

/** Called first, so that no daemon is started without a record. @throws CliError if records cannot be written */
export const prepareRecords = (system: SystemPaths): void =>
  withFiles(
    {
      path: recordsDir(system),
      verb: 'written',
      advice: 'To keep records elsewhere: XDG_STATE_HOME=DIR',
    },
    () => {
      mkdirSync(recordsDir(system), { recursive: true, mode: 0o700 })
      accessSync(recordsDir(system), constants.W_OK)
    },
  )

export const keepRecord = (system: SystemPaths, record: DaemonRecord): void => {
  const path = recordPath(system, record.dataDir)
  replaceFile(path, `${JSON.stringify(record)}\n`)
  // Killed daemons leave records; the directory of an ephemeral one is gone, or will be.
  for (const old of readRecords(system))
    if (!isRunning(old) && (old.flags.includes('--ephemeral') || !existsSync(old.dataDir)))
      removeRecord(system, old)
}

export const removeRecord = (system: SystemPaths, { dataDir }: Pick<DaemonRecord, 'dataDir'>): void =>
  rmSync(recordPath(system, dataDir), { force: true })
