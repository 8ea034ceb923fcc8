import * as z from 'zod'
import type { RemoteChain } from '../chain/chains.ts'
import { devChainId } from '../chain/dev-chain/dev-keys.ts'
import { Explorers } from '../chain/explorers.ts'
import type { KeySettings } from '../chain/keys/chain-keys.ts'
import { maxRelayers } from '../chain/keys/transaction-signer.ts'
import { defaultMaxGas } from '../chain/relayer/sender.ts'
import { fallbackMessage, wholeNumber } from './fields.ts'
import { ConfigProblem } from './problem.ts'

const text = z.union([z.string(), z.number()], 'must be text or a number').transform(String)

const isRpcUrl = (url: string): boolean => /^https?:\/\/\S+$/.test(url) && URL.canParse(url)

/** One URL, or several in a list or with commas. */
const rpcUrls = z
  .union([z.array(z.string()), text], 'must be an http(s) URL, or several')
  .transform((urls) => (typeof urls === 'string' ? urls.split(',') : urls).map((url) => url.trim()))
  .transform((urls) => [...new Set(urls)].filter((url) => url !== ''))
  .refine((urls) => urls.length > 0 && urls.every(isRpcUrl), 'must be an http(s) URL')

const amount = text.pipe(
  z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, 'must be an amount of gwei, such as 50 or 0.2'),
)

const oneChain = z.strictObject({
  rpc: rpcUrls,
  confirmations: text.pipe(z.string().regex(/^[1-9]\d{0,3}$/, 'must be a number from 1 to 9999')).optional(),
  maxFeeGwei: amount.optional(),
  minTipGwei: amount.optional(),
  maxTipGwei: amount.optional(),
  maxGas: wholeNumber(200_000, 10_000_000_000).optional(),
  expiryBlocks: text.pipe(z.string().regex(/^[1-9]\d{0,8}$/, 'must be a number of blocks')).optional(),
  relayers: wholeNumber(1, maxRelayers).optional(),
  signer: z
    .string()
    .refine(
      isSignerUrl,
      'must be an https URL (on this machine also http) without user, password, or query, such as http://127.0.0.1:9000',
    )
    .optional(),
})

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Whoever reads or changes what is signed on its way has the relayers. */
function isSignerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(text)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && loopback.test(hostname))
  return isSafe && [username, password, search, hash].every((part) => part === '')
}

/** `chains` in a configuration file: `{ "8453": { "rpc": "https://…" } }`. */
export const chainsInFile = z.record(
  z.string().regex(/^[1-9]\d{0,14}$/, 'must be a chain id'),
  oneChain.partial(),
)

export const chainSettings = Object.keys(oneChain.shape)

// TAPCHIP_RPC_8453 and so on. Each overrides the same setting in the file.
const variables = {
  rpc: 'TAPCHIP_RPC',
  confirmations: 'TAPCHIP_CONFIRMATIONS',
  maxFeeGwei: 'TAPCHIP_MAX_FEE_GWEI',
  minTipGwei: 'TAPCHIP_MIN_TIP_GWEI',
  maxTipGwei: 'TAPCHIP_MAX_TIP_GWEI',
  maxGas: 'TAPCHIP_MAX_GAS',
  expiryBlocks: 'TAPCHIP_EXPIRY_BLOCKS',
  relayers: 'TAPCHIP_RELAYERS',
  signer: 'TAPCHIP_SIGNER',
} as const
const relayerKey = 'TAPCHIP_RELAYER_KEY'
const keys = [relayerKey, 'TAPCHIP_SIGN_VERIFIER_KEY'] as const
const explorer = 'TAPCHIP_EXPLORER'
const chainId = /^[1-9]\d{0,14}$/

interface ChainVariable {
  of: string
  id: string
  isKey: boolean
  /** Whose key it is; from 2 for a further relayer. */
  relayer: number | undefined
}

/** Splits the name of a chain's variable; undefined if it is not one. `id` is not checked. */
export function chainVariable(name: string): ChainVariable | undefined {
  const of = [...Object.values(variables), ...keys, explorer].find((start) => name.startsWith(`${start}_`))
  if (of === undefined) return undefined
  const rest = name.slice(of.length + 1)
  const [, id = rest, relayer] = (of === relayerKey && /^(\d+)_([2-9]|1[0-6])$/.exec(rest)) || []
  return {
    of,
    id,
    isKey: keys.some((key) => key === of),
    relayer: of === relayerKey ? Number(relayer ?? 1) : undefined,
  }
}
export const isChainId = (text: string): boolean => chainId.test(text)

/** Signing keys come only from the environment or a keystore. */
export function isKeyVariable(name: string): boolean {
  const variable = chainVariable(name)
  return variable?.isKey === true && isChainId(variable.id)
}

const explorerUrl = z
  .string()
  .regex(/^https:\/\/[^\s?#]+$/, 'must be an https URL without a query, such as https://basescan.org')

/** `explorers` in a configuration file: `{ "8453": "https://basescan.org" }`. */
export const explorersInFile = z.record(z.string().regex(chainId, 'must be a chain id'), explorerUrl)

/** TAPCHIP_EXPLORER_8453 and so on override the file. @throws ConfigProblem */
export function explorersFrom(
  file: z.output<typeof explorersInFile>,
  env: Readonly<Record<string, string | undefined>>,
): Explorers {
  const own = { ...file }
  for (const [name, value] of Object.entries(env)) {
    const variable = chainVariable(name)
    if (!value || variable?.of !== explorer || !isChainId(variable.id)) continue
    const url = explorerUrl.safeParse(value)
    if (!url.success) throw new ConfigProblem(`${name} ${url.error.issues[0]?.message}`)
    own[variable.id] = url.data
  }
  return new Explorers(own)
}

type Settings = Partial<Record<keyof typeof variables, unknown>>

export function chainsFrom(
  file: z.output<typeof chainsInFile>,
  env: Readonly<Record<string, string | undefined>>,
): { remote: RemoteChain[]; keys: ReadonlyMap<number, KeySettings> } {
  const chains = new Map<string, Settings>(
    Object.entries(file).map(([id, settings]) => [id, { ...settings }]),
  )
  const sources = new Map<string, string>()
  for (const [name, value] of Object.entries(env)) {
    const variable = chainVariable(name)
    const setting = Object.entries(variables).find(([, of]) => of === variable?.of)?.[0]
    if (!value || !variable || setting === undefined || !isChainId(variable.id)) continue
    const { id } = variable
    chains.set(id, { ...chains.get(id), [setting]: value })
    sources.set(`chains.${id}.${setting}`, name)
  }
  const all = [...chains].map(([id, settings]) => parsed(Number(id), settings, sources))
  return {
    remote: all.flatMap(({ remote }) => remote ?? []),
    keys: new Map(all.map(({ chainId, keys }) => [chainId, keys])),
  }
}

/** The embedded chain needs no RPC URL, and has no other setting. */
const embeddedSettings: ReadonlySet<string> = new Set<keyof Settings>(['relayers', 'signer'])

function parsed(
  chainId: number,
  settings: Settings,
  sources: ReadonlyMap<string, string>,
): { chainId: number; keys: KeySettings; remote: RemoteChain | undefined } {
  const isEmbedded =
    chainId === devChainId && Object.keys(settings).every((setting) => embeddedSettings.has(setting))
  if (settings.rpc === undefined && !isEmbedded)
    throw new ConfigProblem(`Chain ${chainId} has settings but no RPC URL. Set TAPCHIP_RPC_${chainId}.`)
  const named = (setting: keyof typeof variables) => {
    const path = `chains.${chainId}.${setting}`
    return sources.get(path) ?? (setting in settings ? path : `${variables[setting]}_${chainId}`)
  }
  const schema = isEmbedded ? oneChain.partial() : oneChain
  const result = schema.safeParse(settings, { error: fallbackMessage })
  if (!result.success) {
    const [issue] = result.error.issues
    const path = `chains.${chainId}.${issue?.path.join('.')}`
    throw new ConfigProblem(`${sources.get(path) ?? path} ${issue?.message}`)
  }
  const { rpc, confirmations = '2', expiryBlocks, maxGas = defaultMaxGas, relayers = 1, signer } = result.data
  const { maxFeeGwei = '200', minTipGwei = '0', maxTipGwei } = result.data
  const refuseAbove = (setting: 'maxTipGwei' | 'maxFeeGwei', limit: string) => {
    if (wei(minTipGwei) > wei(limit))
      throw new ConfigProblem(
        `${named('minTipGwei')} is ${minTipGwei} gwei, more than ${named(setting)} allows (${limit}).`,
      )
  }
  if (maxTipGwei !== undefined) refuseAbove('maxTipGwei', maxTipGwei)
  refuseAbove('maxFeeGwei', maxFeeGwei)
  const remote = rpc && {
    chainId,
    rpcUrls: rpc,
    confirmations: Number(confirmations),
    maxFeePerGas: wei(maxFeeGwei),
    minTip: wei(minTipGwei),
    maxTip: maxTipGwei === undefined ? undefined : wei(maxTipGwei),
    maxGas,
    expiryBlocks: expiryBlocks === undefined ? undefined : Number(expiryBlocks),
  }
  return { chainId, keys: { relayers, signer }, remote }
}

function wei(gwei: string): bigint {
  const [whole = '0', fraction = ''] = gwei.split('.')
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
}
