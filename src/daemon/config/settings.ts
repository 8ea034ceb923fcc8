import * as z from 'zod'
import { badgeSettings } from './badges.ts'
import { chainSettings, chainsInFile, explorersInFile } from './chains.ts'
import { filled, httpsUrl, httpUrl, onOff, wholeNumber } from './fields.ts'
import { mailSettings } from './mail.ts'
import { ConfigProblem } from './problem.ts'

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const limitMessage = 'must be off, or a number from 1 to 1000000000'
const limit = z.union([z.literal('off'), wholeNumber(1, 1_000_000_000, limitMessage)], limitMessage)
const daysMessage = 'must be off, or a number of days from 1 to 36500'
const days = z.union([z.literal('off'), wholeNumber(1, 36_500, daysMessage)], daysMessage)
const lowMessage = 'must be off, or a number of transactions from 1 to 1000000'
/** Reserved, because existing names begin with these words. */
const reservedWords = ['guestbook', 'private', 'virtual']
const word = z.string().regex(/^[a-z][a-z0-9]{0,30}$/, 'must be lower-case letters and digits')

const hostAndPort = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):\d{1,5}$/, 'must be HOST:PORT, such as 127.0.0.1:9484')
  .transform((text) => {
    const colon = text.lastIndexOf(':')
    return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) }
  })
  .refine(({ port }) => port <= 65_535, 'must have a port from 0 to 65535')

const originMessage =
  'must be origins, separated by commas, such as https://app.example.com or http://localhost:*, or chrome-extension://*'
const origin =
  /^(https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:(\d{1,5}|\*))?|[a-z-]+-extension:\/\/(\*|[a-z0-9-]+))$/
const origins = z
  .union(
    [z.array(z.string()), z.string().transform((text) => text.split(',').map((one) => one.trim()))],
    originMessage,
  )
  .refine((list) => list.every((one) => origin.test(one)), originMessage)

/** For the first admin token. Generated tokens are far longer. */
export const minTokenLength = 16

export const settings = z.strictObject({
  host: filled.default('127.0.0.1'),
  port: wholeNumber(0, 65_535).default(8484),
  drainSeconds: wholeNumber(0, 25).default(0),
  dataDir: filled.optional(),
  baseUrl: httpUrl.optional(),
  seed: filled.optional(),
  ephemeral: onOff.default(false),
  logLevel: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  keepTapsDays: days.default(730),
  keepEmailsDays: days.default(90),
  otpTtlSeconds: wholeNumber(1, 31_536_000).default(1800),
  refTtlSeconds: wholeNumber(1, 31_536_000).default(1800),
  rateLimit: limit.optional(),
  keyRateLimit: limit.optional(),
  maxConnections: wholeNumber(1, 1_000_000).default(4096),
  clientConnections: wholeNumber(1, 1_000_000).default(256),
  trustProxy: z
    .union([z.string(), z.number(), z.array(z.string())], 'must be a number of proxies, or their networks')
    .optional(),
  adminRemote: onOff.default(false),
  adminListen: hostAndPort.optional(),
  adminToken: z
    .string()
    .regex(/^\S+$/, 'must not contain spaces')
    .min(minTokenLength, `must have at least ${minTokenLength} characters, or it can be guessed`)
    .optional(),
  dataKey: z.string().optional(),
  backupPassphrase: filled.optional(),
  databaseUrl: z
    .string()
    .regex(/^postgres(ql)?:\/\/[^/]+\/[^/?]+/, 'must be postgres://USER:PASSWORD@HOST:PORT/DATABASE')
    .optional(),
  databaseConnections: wholeNumber(1, 1000).default(24),
  migrationBackup: onOff.default(true),
  wirePrefix: word.default('svc'),
  wireBadge: word
    .refine(
      (one) => !reservedWords.includes(one),
      `must not be ${reservedWords.join(' or ')}: the interface has ${reservedWords.map((one) => `${one}Event`).join(', ')} already`,
    )
    .default('badge'),
  devChain: onOff.optional(),
  devRpc: z.enum(['guarded', 'full'], 'must be guarded or full').default('guarded'),
  devRpcPort: wholeNumber(0, 65_535).default(0),
  devRpcOrigins: origins.default([]),
  keystore: filled.optional(),
  keystorePasswordFile: filled.optional(),
  openseaUrl: httpUrl.default('https://api.opensea.io'),
  openseaApiKey: filled.optional(),
  ipfsGateway: httpsUrl.default('https://ipfs.io'),
  arweaveGateway: httpsUrl.default('https://arweave.net'),
  webhooksPrivate: onOff.default(false),
  relayerLow: z.union([z.literal('off'), wholeNumber(1, 1_000_000, lowMessage)], lowMessage).default(100),
  chains: chainsInFile.optional(),
  explorers: explorersInFile.default({}),
  ...badgeSettings,
  ...mailSettings,
})

export type SettingName = keyof z.input<typeof settings>

export const variableOf = (name: string): string =>
  `TAPCHIP_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** Names a chain's setting by its path in the file, and any other by its name and variable. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  const isUnknown = issue.code === 'unrecognized_keys'
  const path = [...issue.path, ...(isUnknown ? issue.keys.slice(0, 1) : [])].map(String)
  const [name = ''] = path
  if (path.length === 1)
    return `${name} (${variableOf(name)}) ${isUnknown ? 'is not a setting' : issue.message}`
  const inner = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message
  return `${path.join('.')} ${isUnknown ? `is not a setting (known: ${chainSettings.join(', ')})` : inner}`
}

export function proxies(value: string | number | readonly string[]): number | readonly string[] {
  if (typeof value === 'number' || /^\d+$/.test(String(value))) return Number(value)
  const list = typeof value === 'string' ? value.split(',').map((range) => range.trim()) : value
  const bad = list.find((range) => !/^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(range))
  if (bad !== undefined)
    throw new ConfigProblem(
      `trustProxy (TAPCHIP_TRUST_PROXY) must be a number of hops or CIDR ranges, not "${bad}"`,
    )
  return list
}
