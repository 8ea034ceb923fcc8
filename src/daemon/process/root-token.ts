import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readRegular, replaceFile } from '../../values/files.ts'
import type { Config } from '../config/config.ts'
import { ConfigProblem } from '../config/problem.ts'
import { minTokenLength } from '../config/settings.ts'
import { newSecret } from '../domain/access/credentials.ts'

const adminTokenFile = 'admin.token'

/**
 * The built-in token of scope `all`: from the environment, else from a file in the data directory, which is
 * created at the first start. Only the one in force is valid.
 */
export function rootTokens(config: Pick<Config, 'dataDir' | 'adminToken'>): string[] {
  const path = join(config.dataDir, adminTokenFile)
  if (config.adminToken !== undefined) return [config.adminToken]
  if (!existsSync(path)) replaceFile(path, `${newSecret('adminTokens')}\n`, { flush: true })
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
