import { parseArgs } from 'node:util'
import { badgeSecrets } from './badges.ts'
import { mailSecrets } from './mail.ts'
import { ConfigProblem } from './problem.ts'
import { type SettingName, settings } from './settings.ts'

// Secrets come from their own files or the environment, never from a flag, which others can see in a process
// list, or from a configuration file, which gets copied around.
const text = { type: 'string' } as const
const settingOf = (flag: string): string => flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
export const secretNames: readonly SettingName[] = [
  'adminToken',
  'dataKey',
  'backupPassphrase',
  'openseaApiKey',
  ...badgeSecrets,
  ...mailSecrets,
]
/** Contains a password, but unlike the others it may be in a configuration file. */
const withoutFlag: readonly SettingName[] = [...secretNames, 'databaseUrl']
const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
/** Objects in a configuration file; each chain has its own variables. */
export const byChain: readonly SettingName[] = ['chains', 'explorers']
/** All settings except secrets. */
const flags: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>> = Object.fromEntries(
  (Object.keys(settings.shape) as SettingName[])
    .filter((name) => !byChain.includes(name) && !withoutFlag.includes(name))
    .map((name) => [flagOf(name), name === 'ephemeral' ? { type: 'boolean' } : text]),
)

export interface Arguments {
  readonly help: boolean
  readonly version: boolean
  readonly configFile: string | undefined
  readonly dev?: boolean | undefined
  /** A backup to restore instead of starting. */
  readonly restore?: string | undefined
  /** Copy a database, or mark one as restored, instead of starting. */
  readonly store?: string | undefined
  readonly values: Readonly<Partial<Record<SettingName, unknown>>>
}

/** @throws ConfigProblem on an unknown flag */
export function readArguments(argv: readonly string[]): Arguments {
  try {
    const { help, version, config, dev, restore, store, ...values } = parseArgs({
      args: [...argv],
      strict: true,
      allowPositionals: false,
      options: {
        ...flags,
        config: text,
        dev: { type: 'boolean' },
        restore: text,
        store: text,
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    }).values
    return {
      help: help === true,
      version: version === true,
      configFile: typeof config === 'string' ? config : undefined,
      dev: dev === true,
      restore: typeof restore === 'string' ? restore : undefined,
      store: typeof store === 'string' ? store : undefined,
      values: Object.fromEntries(Object.entries(values).map(([flag, value]) => [settingOf(flag), value])),
    }
  } catch (error) {
    throw new ConfigProblem(
      `${error instanceof Error ? error.message.split('. ')[0] : 'Unknown flag'}. See tapchipd --help`,
    )
  }
}
