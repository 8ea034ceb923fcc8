import * as z from 'zod'
import { ConfigProblem } from './config-problem.ts'

/** A chain that others run. */
export interface ChainConfig {
  readonly chainId: number
  readonly rpcUrl: string
  /** How deep a transaction must lie to count for good. */
  readonly confirmations: number
  /** Wei per gas; no transaction offers more. */
  readonly maxFeePerGas: bigint
  /** How many blocks a transfer signature stays good; undefined: about 30 minutes of them. */
  readonly expiryBlocks: number | undefined
}

const text = z.union([z.string(), z.number()]).transform(String)

const oneChain = z.strictObject({
  rpc: text.pipe(z.string().regex(/^https?:\/\/\S+$/, 'must be an http(s) URL')),
  confirmations: text.pipe(z.string().regex(/^[1-9]\d{0,3}$/, 'must be a number from 1 to 9999')).optional(),
  maxFeeGwei: text
    .pipe(z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, 'must be an amount of gwei, such as 50 or 0.2'))
    .optional(),
  expiryBlocks: text.pipe(z.string().regex(/^[1-9]\d{0,8}$/, 'must be a number of blocks')).optional(),
})

/** `chains` of a configuration file: `{ "8453": { "rpc": "https://…" } }`. */
export const chainsInFile = z.record(
  z.string().regex(/^[1-9]\d{0,14}$/, 'must be a chain id'),
  oneChain.partial(),
)

// TAPCHIP_RPC_8453 and so on: each goes before the same setting of the file.
const variables = {
  rpc: /^TAPCHIP_RPC_([1-9]\d{0,14})$/,
  confirmations: /^TAPCHIP_CONFIRMATIONS_([1-9]\d{0,14})$/,
  maxFeeGwei: /^TAPCHIP_MAX_FEE_GWEI_([1-9]\d{0,14})$/,
  expiryBlocks: /^TAPCHIP_EXPIRY_BLOCKS_([1-9]\d{0,14})$/,
} as const

/** Secrets of chains, which come from the environment or a keystore and nowhere else. */
export const keyVariables = /^TAPCHIP_(RELAYER|SIGN_VERIFIER)_KEY_[1-9]\d{0,14}$/

/** @throws ConfigProblem that names the chain and the setting */
export function chainsFrom(
  file: z.output<typeof chainsInFile>,
  env: Readonly<Record<string, string | undefined>>,
): ChainConfig[] {
  const chains = new Map<string, Record<string, string | undefined>>(
    Object.entries(file).map(([id, settings]) => [id, { ...settings }]),
  )
  for (const [name, value] of Object.entries(env)) {
    for (const [setting, pattern] of Object.entries(variables)) {
      const id = pattern.exec(name)?.[1]
      if (id !== undefined && value) chains.set(id, { ...chains.get(id), [setting]: value })
    }
  }
  return [...chains].map(([id, settings]) => parsed(Number(id), settings))
}

function parsed(chainId: number, settings: Record<string, string | undefined>): ChainConfig {
  if (settings.rpc === undefined)
    throw new ConfigProblem(`Chain ${chainId} has settings and no RPC URL. Set TAPCHIP_RPC_${chainId}.`)
  const result = oneChain.safeParse(settings)
  if (!result.success) {
    const [issue] = result.error.issues
    throw new ConfigProblem(`chains.${chainId}.${issue?.path.join('.')}: ${issue?.message}`)
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
