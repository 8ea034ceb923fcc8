import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { ConfigProblem } from '../config/problem.ts'
import { type CopiedTable, type CopyStep, copyStore } from '../store/copy/copy-store.ts'
import { emptyLayout, openSource, openTarget, type Place } from '../store/copy/open-side.ts'
import { CopyProblem, type Side } from '../store/copy/side.ts'
import { asOwnerOf } from '../store/data-dir/as-owner.ts'
import { forgetServer } from '../store/data-dir/data-dir.ts'
import {
  DataKeyProblem,
  dataKeyFile,
  dataKeyVariable,
  loadDataKey,
  opensCheck,
} from '../store/data-dir/data-key.ts'
import { SecretBox } from '../store/data-dir/secret-box.ts'
import { setting } from '../store/database/settings.ts'

interface CopyResult {
  /** Without passwords. */
  readonly from: string
  readonly to: string
  readonly rows: number
  readonly tables: readonly CopiedTable[]
  /** The state of an embedded chain is in files, which are not copied. */
  readonly leavesChain: boolean
}

/** `from` and `to`: a data directory, or the URL of a database on a server. */
interface CopyRequest {
  readonly from: string
  readonly to: string
}

/**
 * Copies the database of stopped daemons to another engine.
 * @throws CopyProblem, DataKeyProblem, ConfigProblem, DataDirInUse, SchemaTooNew, SchemaTooOld, DatabaseUnavailable; run
 * again, it continues
 */
export async function copyStores(
  request: CopyRequest,
  config: Pick<Config, 'dataKey'>,
  progress: (step: CopyStep) => void,
): Promise<CopyResult> {
  const [source, target] = [placeOf(request.from), placeOf(request.to)]
  if ('dataDir' in source && 'dataDir' in target)
    throw new ConfigProblem(
      'store copy moves a database between engines: one of --from and --to is postgres://… For a copy of a data directory: tapchip backup.',
    )
  const [place] = [source, target].flatMap((one) => ('dataDir' in one ? [one.dataDir] : []))
  const run = () => copyBetween(source, target, config, progress)
  return place === undefined ? run() : asOwnerOf(place, run)
}

async function copyBetween(
  source: Place,
  target: Place,
  config: Pick<Config, 'dataKey'>,
  progress: (step: CopyStep) => void,
): Promise<CopyResult> {
  const from = await openSource(source)
  try {
    await assertKey(from, [source, target], config.dataKey)
    const to = await openTarget(target)
    try {
      const tables = await copyStore({ from, to, progress, ...(await emptyLayout()) })
      if ('dataDir' in target) forgetServer(target.dataDir)
      return {
        from: from.name,
        to: to.name,
        rows: tables.reduce((sum, { rows }) => sum + rows, 0),
        tables,
        leavesChain: 'dataDir' in source && existsSync(join(source.dataDir, 'dev-chain')),
      }
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

const placeOf = (text: string): Place =>
  /^postgres(ql)?:\/\//.test(text) ? { url: text } : { dataDir: resolve(text) }

/** Without the key, encrypted values in the copy would be unreadable. @throws DataKeyProblem */
async function assertKey(from: Side, places: readonly Place[], fromEnvironment: string | undefined) {
  const sealed = await setting(from.reader, 'dataKeyCheck')
  if (sealed === undefined)
    throw new CopyProblem(`${from.name} is empty: no daemon has run on it. Nothing was copied.`)
  const [dataDir] = places.flatMap((place) => ('dataDir' in place ? [place.dataDir] : []))
  const hasFile = dataDir !== undefined && existsSync(join(dataDir, dataKeyFile))
  if (!hasFile && fromEnvironment === undefined)
    throw new DataKeyProblem(`Give the data key of ${from.name} in ${dataKeyVariable}. Nothing was copied.`)
  const key = loadDataKey({ dataDir: dataDir ?? '', fromEnvironment, databaseExists: true })
  if (opensCheck(new SecretBox(key), sealed)) return
  const where = fromEnvironment === undefined ? join(dataDir ?? '', dataKeyFile) : dataKeyVariable
  throw new DataKeyProblem(
    `The data key in ${where} is not the one that ${from.name} was made with. Nothing was copied: give the right one in ${dataKeyVariable}.`,
  )
}
