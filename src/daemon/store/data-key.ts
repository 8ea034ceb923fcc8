import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../values/replace-file.ts'
import type { SecretBox } from './secret-box.ts'

export class DataKeyProblem extends Error {
  override readonly name = 'DataKeyProblem'
}

export const dataKeyFile = 'data.key'
export const dataKeyVariable = 'TAPCHIP_DATA_KEY'

interface Source {
  dataDir: string
  /** 64 hex digits from the environment, in place of the file. */
  fromEnvironment: string | undefined
  /** Whether there is a database already: then a key must be there as well. */
  databaseExists: boolean
}

/** The data key of a data directory. A fresh one is made for a fresh database only. */
export function loadDataKey({ dataDir, fromEnvironment, databaseExists }: Source): Uint8Array {
  if (fromEnvironment !== undefined) return parse(fromEnvironment, dataKeyVariable)
  const path = join(dataDir, dataKeyFile)
  if (existsSync(path)) {
    if ((statSync(path).mode & 0o077) !== 0) {
      throw new DataKeyProblem(`${path} can be read by others. Close it: chmod 600 ${path}`)
    }
    return parse(readFileSync(path, 'utf8').trim(), path)
  }
  if (databaseExists) {
    throw new DataKeyProblem(
      `The data key of ${dataDir} is missing. The keys in its database cannot be read without it: ` +
        `put ${dataKeyFile} back from your backup, or set ${dataKeyVariable}.`,
    )
  }
  const key = randomBytes(32)
  replaceFile(path, `${key.toString('hex')}\n`, { flush: true })
  return key
}

function parse(text: string, where: string): Uint8Array {
  if (!/^[0-9a-fA-F]{64}$/.test(text))
    throw new DataKeyProblem(
      `${where} must hold 64 hex digits, a key of 32 bytes. Put the right one back from your backup: ` +
        'without it the keys in the database cannot be read.',
    )
  return Buffer.from(text, 'hex')
}

const checkPlace = 'settings:dataKeyCheck'

/** What a database keeps to tell its own data key from another. */
export const sealCheck = (box: SecretBox): string =>
  box.seal(Buffer.from('tapchip'), checkPlace).toString('base64')

/** Throws DataKeyProblem unless the box has the key that `sealed` was made with. */
export function assertDataKey(box: SecretBox, sealed: string, dataDir: string): void {
  try {
    box.open(Buffer.from(sealed, 'base64'), checkPlace)
  } catch {
    throw new DataKeyProblem(
      `The data key is not the one that the database in ${dataDir} was made with. ` +
        `Put the right ${dataKeyFile} back, or the right ${dataKeyVariable}.`,
    )
  }
}
