import type { RemoteChain } from '../chain/chains.ts'
import { devChainId } from '../chain/dev-chain/dev-keys.ts'
import type { KeySettings } from '../chain/keys/chain-keys.ts'
import { chainVariable, isChainId } from './chains.ts'

/** Read by the CLI or by tests: the same shell may start the daemon. */
const ofOthers = [
  'TAPCHIP_URL',
  'TAPCHIP_ADMIN_URL',
  'TAPCHIP_API_KEY',
  'TAPCHIP_CONTEXT',
  'TAPCHIP_DEBUG',
  'TAPCHIP_META_READ_KEY',
  'TAPCHIP_FILE_READ_KEY',
  'TAPCHIP_APP_MASTER_KEY',
  'TAPCHIP_TEST_BROWSER',
  'TAPCHIP_TEST_FAKETIME',
  'TAPCHIP_TEST_ALL',
  'TAPCHIP_BENCH_PROFILE',
]

/** Warns about variables without effect, naming them without their values, which can be secrets. */
export function warningsOf(
  env: Readonly<Record<string, string | undefined>>,
  {
    settings,
    chains,
    keySettings,
    devChain,
  }: {
    settings: readonly string[]
    chains: readonly Pick<RemoteChain, 'chainId'>[]
    keySettings: ReadonlyMap<number, KeySettings>
    devChain: boolean
  },
): string[] {
  const known = [...settings, 'TAPCHIP_CONFIG', ...ofOthers]
  const served = new Set([
    ...chains.map(({ chainId }) => String(chainId)),
    ...(devChain ? [String(devChainId)] : []),
  ])
  const names = Object.keys(env).filter((name) => name.startsWith('TAPCHIP_') && env[name])
  return names.sort().flatMap((name) => {
    if (known.includes(name)) return []
    const variable = chainVariable(name)
    if (variable === undefined)
      return [`${name} is not a variable of the daemon and is ignored.${suggestionFor(name, known)}`]
    const { of, id, isKey, relayer } = variable
    if (!isChainId(id))
      return [`${name} is ignored: ${of}_ must be followed by a chain id, such as 8453, not by "${id}".`]
    if (isKey && !served.has(id))
      return [`${name} is ignored: chain ${id} has no RPC URL. Set TAPCHIP_RPC_${id} to use the chain.`]
    const { relayers = 1, signer } = keySettings.get(Number(id)) ?? {}
    if (relayer === undefined) return []
    if (signer !== undefined)
      return [`${name} is ignored: the signer of TAPCHIP_SIGNER_${id} has the relayers' keys.`]
    if (relayer > relayers) return [`${name} is ignored: set TAPCHIP_RELAYERS_${id} to ${relayer} to use it.`]
    return []
  })
}

function suggestionFor(name: string, known: readonly string[]): string {
  const near = known.find((other) => distance(name, other) <= 2)
  return near === undefined ? ' See tapchipd --help.' : ` Did you mean ${near}?`
}

/** The Levenshtein distance. */
function distance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [row, letter] of [...one].entries()) {
    const line = [row + 1]
    for (let at = 0; at < other.length; at += 1) {
      const changed = (above[at] ?? 0) + (letter === other[at] ? 0 : 1)
      line.push(Math.min(changed, (above[at + 1] ?? 0) + 1, (line[at] ?? 0) + 1))
    }
    above = line
  }
  return above.at(-1) ?? 0
}
