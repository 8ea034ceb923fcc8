import { createCipheriv, createDecipheriv, randomBytes, type ScryptOptions, scrypt } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { readRegular, replaceFile } from '../../../values/files.ts'
import type { SecretBox } from './secret-box.ts'

export class DataKeyProblem extends Error {
  override readonly name = 'DataKeyProblem'
}

export const dataKeyFile = 'data.key'
export const dataKeyVariable = 'TAPCHIP_DATA_KEY'

interface Source {
  dataDir: string
  /** 64 hex digits. Takes precedence over the file. */
  fromEnvironment: string | undefined
  /** True: a missing key is an error. */
  databaseExists: boolean
}

/** Creates a key only for a new database. @throws DataKeyProblem */
export function loadDataKey({ dataDir, fromEnvironment, databaseExists }: Source): Uint8Array {
  if (fromEnvironment !== undefined) return parseDataKey(fromEnvironment, dataKeyVariable)
  const path = join(dataDir, dataKeyFile)
  if (existsSync(path)) {
    if ((statSync(path).mode & 0o077) !== 0) {
      throw new DataKeyProblem(`${path} can be read by others. Close it: chmod 600 ${path}`)
    }
    return parseDataKey(readRegular(path).trim(), path)
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

/** @throws DataKeyProblem */
export function parseDataKey(text: string, where: string): Uint8Array {
  if (!/^[0-9a-fA-F]{64}$/.test(text))
    throw new DataKeyProblem(
      `${where} must contain 64 hex digits, a key of 32 bytes. Put the right one back from your backup: ` +
        'without it the keys in the database cannot be read.',
    )
  return Buffer.from(text, 'hex')
}

const checkContext = 'settings:dataKeyCheck'

/** Stored in the database to verify the data key. */
export const sealCheck = (box: SecretBox): string =>
  box.seal(Buffer.from('tapchip'), checkContext).toString('base64')

/** @param where a data directory, or the name of a database on a server @throws DataKeyProblem if `sealed` was made with another key */
export function assertDataKey(box: SecretBox, sealed: string, where: string): void {
  if (opensCheck(box, sealed)) return
  if (/^postgres(ql)?:/.test(where))
    throw new DataKeyProblem(
      `The data key in ${dataKeyVariable} is not the one that ${where} was made with. All daemons on one database need the same: ` +
        'take it from another daemon, or from where you keep it. Nothing was changed.',
    )
  throw new DataKeyProblem(
    `The data key is not the one that the database in ${where} was made with. ` +
      `Put the right ${dataKeyFile} back, or the right ${dataKeyVariable}.`,
  )
}

/** False if `sealed` was made with another key. */
export function opensCheck(box: SecretBox, sealed: string): boolean {
  try {
    box.open(Buffer.from(sealed, 'base64'), checkContext)
    return true
  } catch {
    return false
  }
}

const hex = (bytes: number) => z.string().regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`))

// These limits bound the memory that a foreign file can make scrypt use.
const wrapped = z.object({
  format: z.literal('tapchip-data-key'),
  version: z.literal(1),
  kdf: z.literal('scrypt'),
  N: z
    .number()
    .int()
    .min(2)
    .max(2 ** 20),
  r: z.number().int().min(1).max(32),
  p: z.number().int().min(1).max(16),
  salt: hex(16),
  cipher: z.literal('aes-256-gcm'),
  nonce: hex(12),
  key: hex(32),
  tag: hex(16),
})
type Wrapped = z.output<typeof wrapped>
type Header = Omit<Wrapped, 'key' | 'tag'>

// Each guess takes 128 MiB and about half a second.
const cost = { N: 2 ** 17, r: 8, p: 1 }

/** @returns JSON; AES-256-GCM wraps the data key with a key from scrypt */
export async function wrapDataKey(dataKey: Uint8Array, passphrase: string): Promise<string> {
  const header: Header = {
    format: 'tapchip-data-key',
    version: 1,
    kdf: 'scrypt',
    ...cost,
    salt: randomBytes(16).toString('hex'),
    cipher: 'aes-256-gcm',
    nonce: randomBytes(12).toString('hex'),
  }
  const wrapping = await derive(passphrase, header)
  const cipher = createCipheriv('aes-256-gcm', wrapping, Buffer.from(header.nonce, 'hex')).setAAD(
    bound(header),
  )
  const key = Buffer.concat([cipher.update(dataKey), cipher.final()]).toString('hex')
  return `${JSON.stringify({ ...header, key, tag: cipher.getAuthTag().toString('hex') }, null, 2)}\n`
}

/** @throws DataKeyProblem if the passphrase is wrong or the text is not a wrapped key */
export async function unwrapDataKey(text: string, passphrase: string): Promise<Uint8Array> {
  const { key, tag, ...header } = parseWrapped(text)
  const wrapping = await derive(passphrase, header)
  const decipher = createDecipheriv('aes-256-gcm', wrapping, Buffer.from(header.nonce, 'hex'))
    .setAAD(bound(header))
    .setAuthTag(Buffer.from(tag, 'hex'))
  try {
    return Buffer.concat([decipher.update(Buffer.from(key, 'hex')), decipher.final()])
  } catch {
    throw new DataKeyProblem(
      'The passphrase is not the one that this backup was made with, or its data.key.enc is damaged.',
    )
  }
}

/** In a backup, and in a data directory restored from one. */
export const wrappedKeyFile = 'data.key.enc'

/** For restored backups. @throws DataKeyProblem if the passphrase is missing or wrong */
export async function restoreDataKey(dataDir: string, passphrase: string | undefined): Promise<void> {
  const wrapped = join(dataDir, wrappedKeyFile)
  const path = join(dataDir, dataKeyFile)
  if (existsSync(path) || !existsSync(wrapped)) return
  if (passphrase === undefined)
    throw new DataKeyProblem(
      `The data key of ${dataDir} is in ${wrappedKeyFile}, under the passphrase of the backup. ` +
        'Start once with it in TAPCHIP_BACKUP_PASSPHRASE.',
    )
  const key = await unwrapDataKey(readRegular(wrapped), passphrase)
  replaceFile(path, `${Buffer.from(key).toString('hex')}\n`, { flush: true })
}

function parseWrapped(text: string): Wrapped {
  try {
    return wrapped.parse(JSON.parse(text))
  } catch {
    throw new DataKeyProblem(
      'This is not a wrapped data key of Tapchip: take the data.key.enc of a backup, whole.',
    )
  }
}

function derive(passphrase: string, { N, r, p, salt }: Header): Promise<Buffer> {
  const options: ScryptOptions = { N, r, p, maxmem: 128 * N * r + 128 * r * p + 1024 * 1024 }
  // Keyboards differ in how they encode the same letter.
  const typed = passphrase.normalize('NFKC')
  return new Promise((resolve, reject) => {
    scrypt(typed, Buffer.from(salt, 'hex'), 32, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

/** Authenticates the parameters, so that a changed file does not open. */
const bound = ({ N, r, p, salt, nonce }: Header): Buffer =>
  Buffer.from(['tapchip-data-key', 1, 'scrypt', N, r, p, salt, 'aes-256-gcm', nonce].join(' '))
