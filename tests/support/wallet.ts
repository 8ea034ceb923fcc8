import { type Address, createWalletClient, http, publicActions, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { keptWalletAbi, keptWalletBytecode } from '../contracts/artifacts/kept-wallet.ts'
import type { Phygitals } from './phygitals.ts'
import { minedReceipt } from './receipt.ts'

/** Somebody with money of their own, who talks to the published RPC as any wallet does. */
export async function somebodyOn({ ctx }: Pick<Phygitals, 'ctx'>) {
  const chain = ctx.chains.embedded
  if (!chain) throw new Error('there is no embedded chain')
  const account = privateKeyToAccount(`0x${'61'.repeat(32)}`)
  await chain.request({ method: 'anvil_setBalance', params: [account.address, toHex(10n ** 24n)] })
  const transport = http(chain.rpcUrl)
  return createWalletClient({ account, chain: chain.chain, transport, pollingInterval: 20 }).extend(
    publicActions,
  )
}

/** Deploys a wallet that is a contract, and signs by its keeper's key (ERC-1271). */
export async function deployWallet(p: Phygitals, keeper: Address): Promise<Address> {
  const somebody = await somebodyOn(p)
  const hash = await somebody.deployContract({
    abi: keptWalletAbi,
    bytecode: keptWalletBytecode,
    args: [keeper],
  })
  const { contractAddress } = await minedReceipt(somebody, hash)
  if (!contractAddress) throw new Error('the wallet was not deployed')
  return contractAddress
}
