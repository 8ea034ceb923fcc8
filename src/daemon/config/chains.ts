import * as z from 'zod'
import type { RemoteChain } from '../chain/chains.ts'
import { Explorers } from '../chain/explorers.ts'
import { fallbackMessage } from './fields.ts'
import { ConfigProblem } from './problem.ts'

const text = z.union([z.string(), z.number()], 'must be text or a number').transform(String)

const oneChain = z.strictObject({
  rpc: text.pipe(z.string().regex(/^https?:\/\/\S+$/, 'must be an http(s) URL')),
  confirmations: text.pipe(z.string().regex(/^[1-9]\d{0,3}$/, 'must be a number from 1 to 9999')).optional(),
  maxFeeGwei: text
    .pipe(z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, 'must be an amount of gwei, such as 50 or 0.2'))
    .optional(),
  expiryBlocks: text.pipe(z.string().regex(/^[1-9]\d{0,8}$/, 'must be a number of blocks')).optional(),
})

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
  expiryBlocks: 'TAPCHIP_EXPIRY_BLOCKS',
} as const
const keys = ['TAPCHIP_RELAYER_KEY', 'TAPCHIP_SIGN_VERIFIER_KEY'] as const
const explorer = 'TAPCHIP_EXPLORER'
const chainId = /^[1-9]\d{0,14}$/

/** Splits the name of a chain's variable; undefined if it is not one. `id` is not checked. */
export function chainVariable(name: string): { of: string; id: string; isKey: boolean } | undefined {
  const of = [...Object.values(variables), ...keys, explorer].find((start) => name.startsWith(`${start}_`))
  if (of === undefined) return undefined
  return { of, id: name.slice(of.length + 1), isKey: keys.some((key) => key === of) }
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

export function chainsFrom(
  file: z.output<typeof chainsInFile>,
  env: Readonly<Record<string, string | undefined>>,
): RemoteChain[] {
  const chains = new Map<string, Record<string, string | undefined>>(
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
  return [...chains].map(([id, settings]) => parsed(Number(id), settings, sources))
}

function parsed(
  chainId: number,
  settings: Record<string, string | undefined>,
  sources: ReadonlyMap<string, string>,
): RemoteChain {
  if (settings.rpc === undefined)
    throw new ConfigProblem(`Chain ${chainId} has settings but no RPC URL. Set TAPCHIP_RPC_${chainId}.`)
  const result = oneChain.safeParse(settings, { error: fallbackMessage })
  if (!result.success) {
    const [issue] = result.error.issues
    const path = `chains.${chainId}.${issue?.path.join('.')}`
    throw new ConfigProblem(`${sources.get(path) ?? path} ${issue?.message}`)
  }
  const { rpc, confirmations = '2', maxFeeGwei = '200', expiryBlocks } = result.data
  const [whole = '0', fraction = ''] = maxFeeGwei.split('.')
  return {
    chainId,
    rpcUrl: rpc,
    confirmations: Number(confirmations),
    maxFeePerGas: BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0')),
    expiryBlocks: expiryBlocks === undefined ? undefined : Number(expiryBlocks),
  }
}
