import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readRegular, replaceFile } from '../../values/files.ts'
import type { Config } from '../config/config.ts'
import { ConfigProblem } from '../config/problem.ts'
import { minTokenLength } from '../config/settings.ts'
import { type Actor, type Credentials, newSecret, rootName } from '../domain/access/credentials.ts'
import { conflict } from '../domain/errors/errors.ts'
import { type Clock, iso } from '../domain/time/time.ts'
import { recordChange } from '../store/audit/audit.ts'
import type { Db } from '../store/database/database.ts'

const adminTokenFile = 'admin.token'

/**
 * The built-in token of scope `all`: from the environment, else from a file in the data directory, which is
 * created at the first start. Only the one in force is valid.
 */
export function rootTokens(config: Pick<Config, 'dataDir' | 'adminToken'>): string[] {
  const path = join(config.dataDir, adminTokenFile)
  if (config.adminToken !== undefined) return [config.adminToken]
  if (!existsSync(path)) writeToken(path)
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new ConfigProblem(
      `${path} can be read by others. Restrict it: chmod 600 ${path}, or remove it to get a new one`,
    )
  }
  const token = readRegular(path).trim()
  if (token.length < minTokenLength)
    throw new ConfigProblem(`${path} is damaged. Remove it: the next start creates a new one`)
  return [token]
}

function writeToken(path: string): string {
  const token = newSecret('adminTokens')
  replaceFile(path, `${token}\n`, { flush: true })
  return token
}

/**
 * Replaces the file's token, and ends the old one at once. @returns the file's path @throws DomainError conflict if the
 * token does not come from the file
 */
export async function rollRootToken(
  { config, db, clock, credentials }: { config: Config; db: Db; clock: Clock; credentials: Credentials },
  actor: Actor,
): Promise<string> {
  if (config.adminToken !== undefined)
    throw conflict(
      'The root token of this daemon is set by TAPCHIP_ADMIN_TOKEN, or in its configuration file: change it there, and restart the daemon. Nothing was changed.',
    )
  const path = join(config.dataDir, adminTokenFile)
  const at = iso(clock.now())
  await db.write((trx) =>
    recordChange(trx, { at, actor, teamId: null, action: 'root-token.roll', target: rootName, detail: {} }),
  )
  // Nothing is awaited in between, so the file and the memory agree, however many are at it.
  credentials.setRootTokens([writeToken(path)])
  return path
}
