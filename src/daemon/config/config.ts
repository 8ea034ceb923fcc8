import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type BadgesConfig, badgeSecrets, badgesFrom } from './badges.ts'
import { type ChainConfig, chainsFrom, isKeyVariable } from './chains.ts'
import { fallbackMessage } from './fields.ts'
import { ConfigProblem, describeFileError } from './problem.ts'
import { describeIssue, type LogLevel, proxies, type SettingName, settings, variableOf } from './settings.ts'
import { warningsOf } from './warnings.ts'

export interface Config {
  readonly host: string
  /** 0: a free one. */
  readonly port: number
  readonly dataDir: string
  /** Without a slash at the end; undefined: where the daemon listens. */
  readonly baseUrl: string | undefined
  readonly seed: string | undefined
  /** Everything in a temporary directory that goes when the daemon stops. */
  readonly ephemeral: boolean
  readonly logLevel: LogLevel
  readonly otpLifetimeMs: number
  readonly refLifetimeMs: number
  /** Requests a minute and client on what needs no key; undefined: no limit. */
  readonly rateLimit: number | undefined
  /** Requests a minute and API key; undefined: no limit. */
  readonly keyRateLimit: number | undefined
  /** Keys, tokens, codes and refs that are not good, a minute and client; undefined: no limit. */
  readonly guessLimit: number | undefined
  /** How many there may be at once, from everywhere, and from one client. */
  readonly maxConnections: number
  readonly clientConnections: number
  /** How many proxies to trust, or which: a number of hops, or CIDR ranges. */
  readonly trustProxy: number | readonly string[] | undefined
  /** Whether /admin and /metrics answer forwarded requests, and stay on the public listener in any case. */
  readonly adminRemote: boolean
  /** An address of their own for /admin and /metrics. */
  readonly adminListen: { readonly host: string; readonly port: number } | undefined
  /** In place of the token file. */
  readonly adminToken: string | undefined
  /** In place of the data key's file: 64 hex digits. */
  readonly dataKey: string | undefined
  /** Of the backup that was put back, where its data key is wrapped. */
  readonly backupPassphrase: string | undefined
  /** The word in x-…-api-key, x-…-code and …Ref. */
  readonly wirePrefix: string
  /** The word in /…-events, …Events and …Event. */
  readonly wireBadge: string
  /** Whether there is an embedded chain, with the id 31337. */
  readonly devChain: boolean
  /** What its published RPC lets through. */
  readonly devRpc: 'guarded' | 'full'
  /** Chains that others run. */
  readonly chains: readonly ChainConfig[]
  /** Signing keys of chains by the names of their variables. */
  readonly chainKeys: Readonly<Record<string, string | undefined>>
  /** OpenSea's API, or one like it. */
  readonly marketplace: { readonly url: string; readonly apiKey: string } | undefined
  readonly keystore: { readonly folder: string; readonly passwordFile: string } | undefined
  readonly badges: BadgesConfig
  /** What was set and has no effect, for the log. */
  readonly warnings: readonly string[]
}

// Secrets come from files of their own or from the environment, never from a flag, which others can see in a list
// of processes, nor from a configuration file, which gets copied around.
const flags = {
  host: 'host',
  port: 'port',
  'data-dir': 'dataDir',
  'base-url': 'baseUrl',
  seed: 'seed',
  ephemeral: 'ephemeral',
  'log-level': 'logLevel',
} as const
const secretNames: readonly SettingName[] = [
  'adminToken',
  'dataKey',
  'backupPassphrase',
  'openseaApiKey',
  ...badgeSecrets,
]

/** What the command line asked for, before it is understood. */
export interface Arguments {
  readonly help: boolean
  readonly version: boolean
  readonly configFile: string | undefined
  readonly values: Readonly<Partial<Record<SettingName, unknown>>>
}

/** Reads flags. @throws ConfigProblem on an unknown one */
export function readArguments(argv: readonly string[]): Arguments {
  try {
    const text = { type: 'string' } as const
    const { values } = parseArgs({
      args: [...argv],
      strict: true,
      allowPositionals: false,
      options: {
        host: text,
        port: text,
        'data-dir': text,
        'base-url': text,
        config: text,
        seed: text,
        ephemeral: { type: 'boolean' },
        'log-level': text,
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    })
    const given = Object.entries(flags).flatMap(([flag, name]) => {
      const value = values[flag as keyof typeof flags]
      return value === undefined ? [] : [[name, value]]
    })
    return {
      help: values.help ?? false,
      version: values.version ?? false,
      configFile: values.config,
      values: Object.fromEntries(given),
    }
  } catch (error) {
    throw new ConfigProblem(
      `${error instanceof Error ? error.message.split('. ')[0] : 'Unknown flag'}. See tapchipd --help`,
    )
  }
}

/** Requests a minute, where nothing else is said; none of an ephemeral daemon. */
const limits = { rateLimit: 600, keyRateLimit: 60_000, guessLimit: 300 }
const noLimits = { rateLimit: undefined, keyRateLimit: undefined, guessLimit: undefined }
const limit = (said: number | 'off' | undefined, usual: number | undefined): number | undefined =>
  said === 'off' ? undefined : (said ?? usual)

type Environment = Readonly<Record<string, string | undefined>>

/** Chains have variables of their own. */
const environmentNames = (Object.keys(settings.shape) as SettingName[]).filter((name) => name !== 'chains')

function fromEnvironment(env: Environment): Partial<Record<SettingName, unknown>> {
  return Object.fromEntries(
    environmentNames.flatMap((name) => {
      const value = env[variableOf(name)]
      return value === undefined || value === '' ? [] : [[name, value]]
    }),
  )
}

function fromFile(path: string | undefined): Record<string, unknown> {
  if (path === undefined) return {}
  let parsed: unknown
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigProblem(`The configuration file ${path} cannot be read: ${describeFileError(error)}`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new ConfigProblem(`${path} must hold a JSON object`)
  const values: Record<string, unknown> = { ...parsed }
  for (const name of secretNames) {
    if (name in values)
      throw new ConfigProblem(`${path} must not hold ${name}: set ${variableOf(name)} instead`)
  }
  return values
}

/** Flags over environment over file over default. @throws ConfigProblem that names the setting */
export function loadConfig(args: Arguments, env: Environment): Config {
  const file = fromFile(args.configFile ?? env.TAPCHIP_CONFIG)
  const given = { ...file, ...fromEnvironment(env), ...args.values }
  const parsed = settings.safeParse(given, { error: fallbackMessage })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new ConfigProblem(issue ? describeIssue(issue) : 'The settings do not fit.')
  }
  const {
    otpTtlSeconds,
    refTtlSeconds,
    rateLimit,
    keyRateLimit,
    trustProxy,
    baseUrl,
    dataDir,
    seed,
    adminListen,
    adminToken,
    dataKey,
    backupPassphrase,
    keystore,
    keystorePasswordFile,
    chains,
    openseaUrl,
    openseaApiKey,
    ...rest
  } = parsed.data
  if ((keystore === undefined) !== (keystorePasswordFile === undefined))
    throw new ConfigProblem(
      'keystore (TAPCHIP_KEYSTORE) and keystorePasswordFile (TAPCHIP_KEYSTORE_PASSWORD_FILE) go together: set both.',
    )
  const usual = rest.ephemeral ? noLimits : limits
  const remote = chainsFrom(chains ?? {}, env)
  return {
    ...rest,
    seed: seed === undefined ? undefined : resolve(seed),
    adminListen,
    adminToken,
    dataKey,
    backupPassphrase,
    baseUrl: baseUrl?.replace(/\/+$/, ''),
    dataDir: resolve(dataDir ?? defaultDataDir(env)),
    otpLifetimeMs: otpTtlSeconds * 1000,
    refLifetimeMs: refTtlSeconds * 1000,
    rateLimit: limit(rateLimit, usual.rateLimit),
    keyRateLimit: limit(keyRateLimit, usual.keyRateLimit),
    // Where strangers may do without a limit, guessing may not.
    guessLimit: typeof rateLimit === 'number' ? Math.min(rateLimit, limits.guessLimit) : usual.guessLimit,
    trustProxy: trustProxy === undefined ? undefined : proxies(trustProxy),
    badges: badgesFrom(rest),
    marketplace: openseaApiKey === undefined ? undefined : { url: openseaUrl, apiKey: openseaApiKey },
    chains: remote,
    chainKeys: Object.fromEntries(Object.entries(env).filter(([name]) => isKeyVariable(name))),
    warnings: warningsOf(env, {
      settings: environmentNames.map(variableOf),
      chains: remote,
      devChain: rest.devChain,
    }),
    keystore:
      keystore === undefined || keystorePasswordFile === undefined
        ? undefined
        : { folder: resolve(keystore), passwordFile: resolve(keystorePasswordFile) },
  }
}

function defaultDataDir(env: Environment): string {
  // systemd may name several, parted by colons; the first is ours.
  const state = env.STATE_DIRECTORY?.split(':')[0]
  return state || join(env.XDG_DATA_HOME || join(env.HOME || homedir(), '.local', 'share'), 'tapchip')
}
