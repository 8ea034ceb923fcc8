import { isAdminAddress, isDaemonUrl } from './client/address.ts'
import { type ConfigFile, readConfigFile, type StoredContext } from './config-file.ts'
import { UsageError } from './errors.ts'
import { shellQuoted } from './io/text.ts'
import { daemonAtSocket, localDaemonAt } from './local-daemon.ts'
import { findProjectFile, type ProjectFile } from './project-file.ts'
import type { System } from './system.ts'

/** Creates a value on first use. */
export const lazy = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

export interface GlobalFlags {
  readonly url?: string | undefined
  readonly context?: string | undefined
  readonly timeoutSeconds?: number | undefined
}

export interface Config {
  readonly url: string
  readonly origin: string
  readonly contextName: string | undefined
  /** The file in the working directory, or above, that chose the context or the team. */
  readonly projectFile: string | undefined
  /** The team that it names: the default of --team. */
  readonly team: string | undefined
  /** Changes through this context require its name. */
  readonly isProtected: boolean
  readonly apiKey: string | undefined
  readonly apiKeyOrigin: string | undefined
  /** Address of requests under /admin: `http://…` or `unix:/path`. Resolved on first use, like the token. */
  readonly adminUrl: () => string
  /**
   * From the environment, the context, or the data directory of a daemon here; the latter is sent to its socket only.
   */
  readonly adminToken: () => string | undefined
  readonly adminTokenOrigin: () => string | undefined
  /** Something to send under /admin: an admin token, or an API key. */
  readonly hasCredential: () => boolean
  readonly instance: string | undefined
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
  readonly project?: ProjectFile
}

/** The context of an address, by which `login` saves its keys: the current one, if several have it. */
export const contextAt = ({ current, contexts }: ConfigFile, url: string): string | undefined => {
  const names = Object.keys(contexts).filter((name) => contexts[name]?.url === url)
  return names.find((name) => name === current) ?? names[0]
}

const choose = (flags: GlobalFlags, system: System, file: () => ConfigFile): Choice => {
  const { env } = system
  const atAddressOf = (url: string): Choice => {
    const alone = { url, origin: 'TAPCHIP_URL' }
    // Keys in the environment stand alone. Saved ones are sent only to the address for which they were saved.
    if (env.TAPCHIP_API_KEY || env.TAPCHIP_ADMIN_TOKEN || !isDaemonUrl(url)) return alone
    const contextName = contextAt(file(), url)
    const stored = contextName === undefined ? undefined : file().contexts[contextName]
    const isOther = env.TAPCHIP_ADMIN_URL && env.TAPCHIP_ADMIN_URL !== stored?.adminUrl
    return stored && contextName !== undefined && !isOther ? { ...alone, stored, contextName } : alone
  }
  const named = (name: string, origin: string): Choice => {
    const stored = Object.hasOwn(file().contexts, name) ? file().contexts[name] : undefined
    if (!stored) {
      const known = Object.keys(file().contexts)
      const create = `Create it: tapchip context create ${shellQuoted(name)} --url URL`
      const advice = known.length === 0 ? create : `Available: ${known.join(', ')}. ${create}`
      throw new UsageError(`There is no context "${name}" (${origin}).`, advice)
    }
    return { url: stored.url, origin: `context ${name}`, stored, contextName: name }
  }
  if (flags.url) return { url: flags.url, origin: '--url' }
  if (flags.context) return named(flags.context, '--context')
  if (env.TAPCHIP_URL) return atAddressOf(env.TAPCHIP_URL)
  if (env.TAPCHIP_CONTEXT) return named(env.TAPCHIP_CONTEXT, 'TAPCHIP_CONTEXT')
  const project = findProjectFile(system)
  if (project?.context !== undefined) {
    const chosen = named(project.context, project.path)
    return { ...chosen, project, origin: `${chosen.origin}, chosen by ${project.path}` }
  }
  const { current } = file()
  const chosen =
    current === undefined ? { url: defaultUrl, origin: 'default' } : named(current, 'the current context')
  return project ? { ...chosen, project } : chosen
}

/** Flags take precedence over the environment, the context file and the defaults. */
export const resolveConfig = (flags: GlobalFlags, system: System): Config => {
  const { env } = system
  let read: ConfigFile | undefined
  const file = () => (read ??= readConfigFile(system))
  const choice = choose(flags, system, file)
  if (!isDaemonUrl(choice.url)) {
    throw new UsageError(
      `${choice.origin}: "${choice.url}" is not the address of a daemon.`,
      /^[\w.-]+(:\d+)?(\/|$)/.test(choice.url)
        ? `Write it as http://${choice.url}`
        : `It looks like ${defaultUrl}, without a user or password.`,
    )
  }
  // A key in the environment goes with the address there, not with a context that a flag names.
  const envIsElsewhere =
    flags.context !== undefined && !flags.url && !!env.TAPCHIP_URL && env.TAPCHIP_URL !== choice.url
  const fromEnv = envIsElsewhere ? {} : { apiKey: env.TAPCHIP_API_KEY, adminToken: env.TAPCHIP_ADMIN_TOKEN }
  const { stored, contextName } = choice
  const kept = adminAddressOf(flags, env, choice)
  const savedToken = fromEnv.adminToken || stored?.adminToken
  const localDaemon = lazy(() =>
    kept?.startsWith('unix:')
      ? daemonAtSocket(kept.slice('unix:'.length))
      : localDaemonAt(system, kept ?? choice.url),
  )
  // An explicit token goes to any URL; the one in the data directory only to that daemon's socket.
  const localSocket = () => (kept !== undefined && savedToken ? undefined : localDaemon()?.socket)
  const originOf = (variable: string, fromEnvironment: string | undefined, stored: string | undefined) =>
    fromEnvironment ? variable : stored ? `context ${contextName}` : undefined
  const apiKey = header(fromEnv.apiKey || stored?.apiKey, 'The API key')
  const adminToken = () => header(savedToken || localDaemon()?.token, 'The admin token')
  return {
    url: choice.url,
    origin: choice.origin,
    contextName: choice.contextName,
    projectFile: choice.project?.path,
    // The key in the environment has a team of its own.
    team: env.TAPCHIP_API_KEY ? undefined : choice.project?.team,
    isProtected: stored?.protected === true,
    apiKey,
    apiKeyOrigin: originOf('TAPCHIP_API_KEY', fromEnv.apiKey, stored?.apiKey),
    adminUrl: () => {
      const socket = localSocket()
      return socket === undefined ? (kept ?? choice.url) : `unix:${socket}`
    },
    adminToken,
    hasCredential: () => apiKey !== undefined || adminToken() !== undefined,
    adminTokenOrigin: () =>
      originOf('TAPCHIP_ADMIN_TOKEN', fromEnv.adminToken, stored?.adminToken) ??
      (localDaemon()?.token === undefined ? undefined : localDaemon()?.tokenPath),
    instance: stored?.instance,
    wirePrefix: env.TAPCHIP_WIRE_PREFIX || 'svc',
    wireBadge: env.TAPCHIP_WIRE_BADGE || 'badge',
    timeoutMs: (flags.timeoutSeconds ?? 30) * 1000,
  }
}

/** Pasted keys end with line breaks; other invalid characters would make node:http throw later. */
const header = (value: string | undefined, what: string): string | undefined => {
  const trimmed = value?.trim()
  if (!trimmed) return undefined
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed
  throw new UsageError(`${what} has invalid characters.`, 'Copy the whole key again, and nothing else.')
}

/** The address of administration that belongs to the daemon's, if one was given. */
const adminAddressOf = (
  flags: GlobalFlags,
  env: System['env'],
  { url, stored, contextName }: Choice,
): string | undefined => {
  const configuredUrl = env.TAPCHIP_ADMIN_URL
  // It belongs to the address in the environment, not to one from a flag.
  const isMatch = env.TAPCHIP_URL ? env.TAPCHIP_URL === url : flags.context === undefined
  if (!configuredUrl || !isMatch || configuredUrl === stored?.adminUrl) return stored?.adminUrl
  if (!isAdminAddress(configuredUrl))
    throw new UsageError(
      `TAPCHIP_ADMIN_URL: "${configuredUrl}" is not an address of administration.`,
      'It looks like http://127.0.0.1:9484, or unix:/var/lib/tapchip/admin.sock.',
    )
  if (stored?.apiKey || stored?.adminToken)
    throw new UsageError(
      `TAPCHIP_ADMIN_URL is not the address in the context "${contextName}", and its keys go nowhere else.`,
      'Unset it, or set TAPCHIP_URL as well: then keys come from the environment.',
    )
  return configuredUrl
}
