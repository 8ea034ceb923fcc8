import { readFileSync } from 'node:fs'
import { isLoopback } from './client/errors.ts'
import { type ConfigFile, readConfigFile, type StoredContext } from './config-file.ts'
import { readRecord } from './daemon-record.ts'
import { UsageError } from './errors.ts'
import { asWord } from './io/text.ts'
import { dataDir, type Surroundings } from './surroundings.ts'

/** What every command takes. */
export interface GlobalFlags {
  readonly url?: string | undefined
  readonly context?: string | undefined
  readonly timeoutSeconds?: number | undefined
}

export interface Config {
  readonly url: string
  /** Where the URL comes from, for people: `--url`, `TAPCHIP_URL`, `context prod`, `default`. */
  readonly origin: string
  readonly contextName: string | undefined
  readonly apiKey: string | undefined
  /** Where the key comes from, for people. */
  readonly apiKeyOrigin: string | undefined
  /** Read when asked for: from the environment, the context, or the daemon's own file on this machine. */
  readonly adminToken: () => string | undefined
  readonly adminTokenOrigin: () => string | undefined
  readonly wirePrefix: string
  readonly wireBadge: string
  readonly timeoutMs: number
}

export const defaultUrl = 'http://127.0.0.1:8484'

interface Choice {
  readonly url: string
  readonly origin: string
  readonly stored?: StoredContext
  readonly contextName?: string
}

const choose = (flags: GlobalFlags, env: Surroundings['env'], file: () => ConfigFile): Choice => {
  const named = (name: string, origin: string): Choice => {
    const stored = Object.hasOwn(file().contexts, name) ? file().contexts[name] : undefined
    if (!stored) {
      const known = Object.keys(file().contexts)
      const create = `Create it: tapchip context create ${asWord(name)} --daemon URL`
      const advice = known.length === 0 ? create : `There are: ${known.join(', ')}. ${create}`
      throw new UsageError(`There is no context "${name}" (${origin}).`, advice)
    }
    return { url: stored.url, origin: `context ${name}`, stored, contextName: name }
  }
  if (flags.url) return { url: flags.url, origin: '--url' }
  if (flags.context) return named(flags.context, '--context')
  // An address in the environment stands alone: a stored key is never sent to it.
  if (env.TAPCHIP_URL) return { url: env.TAPCHIP_URL, origin: 'TAPCHIP_URL' }
  if (env.TAPCHIP_CONTEXT) return named(env.TAPCHIP_CONTEXT, 'TAPCHIP_CONTEXT')
  const { current } = file()
  return current === undefined
    ? { url: defaultUrl, origin: 'default' }
    : named(current, 'the current context')
}

export const isDaemonUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return !!url && (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password
}

/** Flags beat the environment, which beats the context file, which beats the default. */
export const resolveConfig = (flags: GlobalFlags, at: Surroundings): Config => {
  const { env } = at
  let read: ConfigFile | undefined
  const file = () => (read ??= readConfigFile(at))
  const choice = choose(flags, env, file)
  if (!isDaemonUrl(choice.url)) {
    throw new UsageError(
      `${choice.origin}: "${choice.url}" is not the address of a daemon.`,
      `It looks like ${defaultUrl}, without a user or password.`,
    )
  }
  const url = new URL(choice.url)
  // A key in the environment goes with the address there, not with a context that a flag asked for.
  const envIsElsewhere =
    flags.context !== undefined && !flags.url && !!env.TAPCHIP_URL && env.TAPCHIP_URL !== choice.url
  const fromEnv = envIsElsewhere ? {} : { apiKey: env.TAPCHIP_API_KEY, adminToken: env.TAPCHIP_ADMIN_TOKEN }
  const { stored, contextName } = choice
  const local = () => (isLoopback(url.hostname) ? localToken(at, choice.url) : undefined)
  const originOf = (variable: string, fromEnvironment: string | undefined, kept: string | undefined) =>
    fromEnvironment ? variable : kept ? `context ${contextName}` : undefined
  return {
    url: choice.url,
    origin: choice.origin,
    contextName: choice.contextName,
    apiKey: header(fromEnv.apiKey || stored?.apiKey, 'The API key'),
    apiKeyOrigin: originOf('TAPCHIP_API_KEY', fromEnv.apiKey, stored?.apiKey),
    adminToken: () => header(fromEnv.adminToken || stored?.adminToken || local()?.token, 'The admin token'),
    adminTokenOrigin: () =>
      originOf('TAPCHIP_ADMIN_TOKEN', fromEnv.adminToken, stored?.adminToken) ?? local()?.path,
    wirePrefix: env.TAPCHIP_WIRE_PREFIX || 'svc',
    wireBadge: env.TAPCHIP_WIRE_BADGE || 'badge',
    timeoutMs: (flags.timeoutSeconds ?? 30) * 1000,
  }
}

/** Pasted keys come with line ends; what is left must fit a header, or node:http throws at a bad place. */
const header = (value: string | undefined, what: string): string | undefined => {
  const trimmed = value?.trim()
  if (!trimmed) return undefined
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed
  throw new UsageError(`${what} holds characters that no key has.`, 'Copy it again, whole and alone.')
}

/** A daemon on this machine leaves its first token where only its owner can read it. */
const localToken = (at: Surroundings, url: string): { token: string; path: string } | undefined => {
  const record = readRecord(at)
  const started = record && new URL(record.url).origin === new URL(url).origin ? record : undefined
  try {
    const path = `${started?.dataDir ?? dataDir(at)}/admin.token`
    const token = readFileSync(path, 'utf8').trim()
    return token === '' ? undefined : { token, path }
  } catch {
    return undefined
  }
}
