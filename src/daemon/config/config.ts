import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type * as z from 'zod'
import type { Gateways } from '../../values/media-url.ts'
import type { RemoteChain } from '../chain/chains.ts'
import type { Explorers } from '../chain/explorers.ts'
import type { KeySettings } from '../chain/keys/chain-keys.ts'
import { type Arguments, byChain, secretNames } from './arguments.ts'
import { type BadgesConfig, type badgeSettings, badgesFrom } from './badges.ts'
import { chainsFrom, explorersFrom, isKeyVariable } from './chains.ts'
import { fallbackMessage } from './fields.ts'
import { type MailConfig, mailFrom, type mailSettings } from './mail.ts'
import { ConfigProblem, describeFileError } from './problem.ts'
import { describeIssue, proxies, type SettingName, settings, variableOf } from './settings.ts'
import { warningsOf } from './warnings.ts'

type Settings = z.output<typeof settings>

type ConvertedSetting =
  | keyof typeof badgeSettings
  | keyof typeof mailSettings
  | 'devChain'
  | 'otpTtlSeconds'
  | 'refTtlSeconds'
  | 'rateLimit'
  | 'keyRateLimit'
  | 'trustProxy'
  | 'keystore'
  | 'keystorePasswordFile'
  | 'chains'
  | 'explorers'
  | 'openseaUrl'
  | 'openseaApiKey'
  | 'ipfsGateway'
  | 'arweaveGateway'

export interface Config extends Readonly<Omit<Settings, ConvertedSetting>> {
  readonly dataDir: string
  /** For `tapchip dev`: a ref may be queried twice. No variable and no file sets it. */
  readonly dev: boolean
  /** Without a trailing slash; undefined: the address where the daemon listens. */
  readonly baseUrl: string | undefined
  /** By default on, and off on PostgreSQL: an embedded chain belongs to one daemon. */
  readonly devChain: boolean
  readonly otpLifetimeMs: number
  readonly refLifetimeMs: number
  /** Requests per minute and client for endpoints without a key; undefined: no limit. */
  readonly rateLimit: number | undefined
  /** Requests per minute and API key; undefined: no limit. */
  readonly keyRateLimit: number | undefined
  /** Invalid keys, tokens, codes, and refs per minute and client; undefined: no limit. */
  readonly guessLimit: number | undefined
  /** A number of hops, or CIDR ranges. */
  readonly trustProxy: number | readonly string[] | undefined
  readonly chains: readonly RemoteChain[]
  readonly explorers: Explorers
  readonly chainKeys: Readonly<Record<string, string | undefined>>
  readonly keySettings: ReadonlyMap<number, KeySettings>
  readonly marketplace: { readonly url: string; readonly apiKey: string } | undefined
  readonly keystore: { readonly folder: string; readonly passwordFile: string } | undefined
  readonly badges: BadgesConfig
  /** Undefined: the daemon sends no mail. */
  readonly mail: MailConfig | undefined
  readonly gateways: Gateways
  readonly warnings: readonly string[]
}

/** Default requests per minute; an ephemeral daemon has no limits. */
const limits = { rateLimit: 600, keyRateLimit: 60_000, guessLimit: 300 }
const noLimits = { rateLimit: undefined, keyRateLimit: undefined, guessLimit: undefined }
const limit = (value: number | 'off' | undefined, fallback: number | undefined): number | undefined =>
  value === 'off' ? undefined : (value ?? fallback)

type Environment = Readonly<Record<string, string | undefined>>

const environmentNames = (Object.keys(settings.shape) as SettingName[]).filter(
  (name) => !byChain.includes(name),
)

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
    throw new ConfigProblem(`${path} must contain a JSON object`)
  const values: Record<string, unknown> = { ...parsed }
  for (const name of secretNames) {
    if (name in values)
      throw new ConfigProblem(`${path} must not contain ${name}: set ${variableOf(name)} instead`)
  }
  return values
}

/** Flags override the environment, which overrides the file. @throws ConfigProblem that names the setting */
export function loadConfig(args: Arguments, env: Environment): Config {
  const file = fromFile(args.configFile ?? env.TAPCHIP_CONFIG)
  const values = { ...file, ...fromEnvironment(env), ...args.values }
  const parsed = settings.safeParse(values, { error: fallbackMessage })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new ConfigProblem(issue ? describeIssue(issue) : 'The settings are not valid.')
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
    explorers,
    openseaUrl,
    openseaApiKey,
    ipfsGateway,
    arweaveGateway,
    devChain: devChainSetting,
    smtpUrl,
    smtpFrom,
    ...rest
  } = parsed.data
  if ((keystore === undefined) !== (keystorePasswordFile === undefined))
    throw new ConfigProblem(
      'keystore (TAPCHIP_KEYSTORE) and keystorePasswordFile (TAPCHIP_KEYSTORE_PASSWORD_FILE) belong together: set both.',
    )
  if (args.dev && !rest.ephemeral)
    throw new ConfigProblem(
      '--dev lets a ref be queried twice, so it works only with --ephemeral. Use: tapchip dev',
    )
  assertServerSettings({ ...rest, dataKey })
  const devChain = devChainSetting ?? rest.databaseUrl === undefined
  const defaults = rest.ephemeral ? noLimits : limits
  const { remote, keys: keySettings } = chainsFrom(chains ?? {}, env)
  return {
    ...rest,
    devChain,
    dev: args.dev ?? false,
    seed: seed === undefined ? undefined : resolve(seed),
    adminListen,
    adminToken,
    dataKey,
    backupPassphrase,
    baseUrl: baseUrl && withoutSlash(baseUrl),
    dataDir: resolve(dataDir ?? defaultDataDir(env)),
    otpLifetimeMs: otpTtlSeconds * 1000,
    refLifetimeMs: refTtlSeconds * 1000,
    rateLimit: limit(rateLimit, defaults.rateLimit),
    keyRateLimit: limit(keyRateLimit, defaults.keyRateLimit),
    // Guessing stays limited even if strangers have no rate limit.
    guessLimit: typeof rateLimit === 'number' ? Math.min(rateLimit, limits.guessLimit) : defaults.guessLimit,
    trustProxy: trustProxy === undefined ? undefined : proxies(trustProxy),
    badges: badgesFrom(rest),
    mail: mailFrom({ smtpUrl, smtpFrom }),
    marketplace: openseaApiKey === undefined ? undefined : { url: openseaUrl, apiKey: openseaApiKey },
    gateways: { ipfs: withoutSlash(ipfsGateway), arweave: withoutSlash(arweaveGateway) },
    chains: remote,
    keySettings,
    explorers: explorersFrom(explorers, env),
    chainKeys: Object.fromEntries(Object.entries(env).filter(([name]) => isKeyVariable(name))),
    warnings: warningsOf(env, {
      settings: environmentNames.map(variableOf),
      chains: remote,
      keySettings,
      devChain,
    }),
    keystore:
      keystore === undefined || keystorePasswordFile === undefined
        ? undefined
        : { folder: resolve(keystore), passwordFile: resolve(keystorePasswordFile) },
  }
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

function defaultDataDir(env: Environment): string {
  // systemd may name several directories, separated by colons; the first one is ours.
  const state = env.STATE_DIRECTORY?.split(':')[0]
  return state || join(env.XDG_DATA_HOME || join(env.HOME || homedir(), '.local', 'share'), 'tapchip')
}

interface ServerSettings {
  readonly databaseUrl?: string | undefined
  readonly dataKey?: string | undefined
  readonly ephemeral: boolean
}

/** @throws ConfigProblem if the settings do not go with a database on a server */
function assertServerSettings({ databaseUrl, dataKey, ephemeral }: ServerSettings): void {
  if (databaseUrl === undefined) return
  if (ephemeral)
    throw new ConfigProblem(
      '--ephemeral keeps nothing, and a database on a server (databaseUrl, TAPCHIP_DATABASE_URL) is kept: leave one of them out.',
    )
  if (dataKey === undefined)
    throw new ConfigProblem(
      'A database on a server (databaseUrl, TAPCHIP_DATABASE_URL) needs the data key in TAPCHIP_DATA_KEY, the same for all its daemons: 64 hex digits. Create the first one with: openssl rand -hex 32',
    )
}
