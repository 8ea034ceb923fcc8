import { parseEther, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { startAnvil } from './anvil.ts'
import { openPhygitals, phygitalSeed } from './phygitals.ts'
import { openStrictNode } from './relayer/strict-node.ts'
import { askNode } from './relayer.ts'

const relayerKey = `0x${'31'.repeat(32)}` as const
const signVerifierKey = `0x${'32'.repeat(32)}` as const
export const remoteRelayer = privateKeyToAccount(relayerKey)

/** The same seed with its contracts on another chain, and without owners: nothing is minted at the start. */
const seedOn = (chainId: number) =>
  JSON.parse(
    JSON.stringify(phygitalSeed).replaceAll('"chainId":31337', `"chainId":${chainId}`),
    (name, value) => (name === 'owner' ? undefined : value),
  )

/** A chain that others run, with the rules of geth, and a daemon that is configured for it. */
export async function openRemoteChain({
  confirmations = 1,
  chainId = 7,
  blockMs = 60,
  args = [] as string[],
} = {}) {
  const anvil = await startAnvil(['--no-mining', '--order', 'fees', '--chain-id', String(chainId), ...args])
  const node = await openStrictNode(() => anvil.url)
  const rpc = (method: string, params: unknown[] = []) => askNode(anvil.url, method, params)
  await rpc('anvil_setBalance', [remoteRelayer.address, toHex(parseEther('10'))])
  const env = {
    [`TAPCHIP_RPC_${chainId}`]: node.url,
    [`TAPCHIP_CONFIRMATIONS_${chainId}`]: String(confirmations),
    [`TAPCHIP_MAX_FEE_GWEI_${chainId}`]: '100',
    [`TAPCHIP_RELAYER_KEY_${chainId}`]: relayerKey,
    [`TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`]: signVerifierKey,
    TAPCHIP_DEV_CHAIN: 'off',
  }
  // Blocks come by themselves, as elsewhere, only quicker.
  let mining = true
  let round = Promise.resolve<unknown>(undefined)
  let isMining = false
  const timer = setInterval(() => {
    // Those that wait for each other take all of anvil's threads.
    if (!mining || isMining) return
    isMining = true
    round = rpc('anvil_mine', ['0x1'])
      .catch(() => undefined)
      .finally(() => {
        isMining = false
      })
  }, blockMs)
  return {
    anvil,
    node,
    rpc,
    env,
    seed: seedOn(chainId),
    mining: (on: boolean) => {
      mining = on
    },
    open: () => openPhygitals({ env, seed: seedOn(chainId) }),
    close: async () => {
      clearInterval(timer)
      await round
      await node.close()
      await anvil.kill()
    },
  }
}

export type RemoteChain = Awaited<ReturnType<typeof openRemoteChain>>
