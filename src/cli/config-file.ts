import { mkdirSync, readFileSync } from 'node:fs'
import { replaceFile } from '../values/files.ts'
import { isJsonObject } from '../values/json.ts'
import { isAdminAddress } from './client/address.ts'
import { CliError } from './errors.ts'
import { fileProblem, withFiles } from './file-problem.ts'
import { configDir, type SystemPaths } from './system.ts'

/** A named daemon with its credentials. */
export interface StoredContext {
  readonly url: string
  /** If administration has another address: `http://…` or `unix:/path`. */
  readonly adminUrl?: string
  /** Writes require the name as confirmation. */
  readonly protected?: boolean
  /** The daemon that the keys are for; another one at the same address gets none of them. */
  readonly instance?: string
  readonly apiKey?: string
  readonly adminToken?: string
}

export interface ConfigFile {
  readonly current: string | undefined
  readonly contexts: Readonly<Record<string, StoredContext>>
}

const elsewhere = 'Check who owns it (ls -ld), or keep contexts elsewhere: XDG_CONFIG_HOME=DIR'

export const configPath = (system: SystemPaths): string => `${configDir(system)}/config.json`

const damaged = (what: string, cause?: unknown) =>
  new CliError(`${what}.`, { cause, advice: 'Fix the file, or remove it and log in again: tapchip login' })

const parseContext = (name: string, value: unknown, path: string): StoredContext => {
  const wrong = (why: string) => damaged(`${path}: contexts.${name}${why}`)
  if (!isJsonObject(value) || typeof value.url !== 'string' || !URL.canParse(value.url))
    throw wrong('.url must be a URL')
  const { adminUrl, protected: isProtected, instance, apiKey, adminToken } = value
  if (adminUrl !== undefined && (typeof adminUrl !== 'string' || !isAdminAddress(adminUrl)))
    throw wrong('.adminUrl must be http://… or unix:/path')
  if (isProtected !== undefined && typeof isProtected !== 'boolean')
    throw wrong('.protected must be true or false')
  if (instance !== undefined && typeof instance !== 'string') throw wrong('.instance must be a string')
  if (apiKey !== undefined && typeof apiKey !== 'string') throw wrong('.apiKey must be a string')
  if (adminToken !== undefined && typeof adminToken !== 'string') throw wrong('.adminToken must be a string')
  return {
    url: value.url,
    ...(adminUrl ? { adminUrl } : {}),
    ...(isProtected ? { protected: true } : {}),
    ...(instance ? { instance } : {}),
    ...(apiKey ? { apiKey } : {}),
    ...(adminToken ? { adminToken } : {}),
  }
}

/** A missing file counts as an empty one. */
export const readConfigFile = (system: SystemPaths): ConfigFile => {
  const path = configPath(system)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { current: undefined, contexts: {} }
    throw fileProblem(error, { path, verb: 'read', advice: elsewhere }) ?? error
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw damaged(`${path} is not JSON`, cause)
  }
  // If this passed for an empty file, the next login would overwrite it.
  if (!isJsonObject(value)) throw damaged(`${path} must contain a single JSON object`)
  const { current, contexts = {} } = value
  if (!isJsonObject(contexts)) throw damaged(`${path}: contexts must be an object`)
  if (current !== undefined && typeof current !== 'string')
    throw damaged(`${path}: current must be the name of a context`)
  return {
    current,
    contexts: Object.fromEntries(
      Object.entries(contexts).map(([name, entry]) => [name, parseContext(name, entry, path)]),
    ),
  }
}

/** Written atomically, and readable by its owner only: it holds keys. */
export const writeConfigFile = (system: SystemPaths, file: ConfigFile): void => {
  const path = configPath(system)
  withFiles({ path, verb: 'written', advice: elsewhere }, () => {
    mkdirSync(configDir(system), { recursive: true, mode: 0o700 })
    replaceFile(path, `${JSON.stringify(file, null, 2)}\n`)
  })
}
