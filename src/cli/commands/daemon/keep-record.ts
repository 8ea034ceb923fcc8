import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, rmSync } from 'node:fs'
import { replaceFile } from '../../../values/replace-file.ts'
import { type DaemonRecord, isRunning, readRecords, recordsDir } from '../../daemon-record.ts'
import { withFiles } from '../../file-problem.ts'
import type { Surroundings } from '../../surroundings.ts'

type Place = Pick<Surroundings, 'env' | 'home'>

const recordPath = (at: Place, dataDir: string): string =>
  `${recordsDir(at)}/${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}.json`

/** Before a daemon is started that would be on no record. @throws CliError where there is no place for records */
export const prepareRecords = (at: Place): void =>
  withFiles(
    { path: recordsDir(at), verb: 'written', advice: 'Records of daemons need a place: XDG_STATE_HOME=DIR' },
    () => {
      mkdirSync(recordsDir(at), { recursive: true, mode: 0o700 })
      accessSync(recordsDir(at), constants.W_OK)
    },
  )

export const keepRecord = (at: Place, record: DaemonRecord): void => {
  const path = recordPath(at, record.dataDir)
  replaceFile(path, `${JSON.stringify(record)}\n`)
  // What was killed leaves a record; of an ephemeral daemon its directory has gone, or will.
  for (const old of readRecords(at))
    if (!isRunning(old) && (old.flags.includes('--ephemeral') || !existsSync(old.dataDir)))
      removeRecord(at, old)
}

export const removeRecord = (at: Place, { dataDir }: Pick<DaemonRecord, 'dataDir'>): void =>
  rmSync(recordPath(at, dataDir), { force: true })
