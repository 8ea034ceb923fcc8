import { type Address, getContract, type Hex } from 'viem'
import { receiverAbi, receiverBytecode } from './artifacts/receiver.ts'
import type { Chain } from './chain.ts'

const moods = { accept: 0, refuse: 1, burnGas: 2, callBack: 3 } as const

/** A contract that receives tokens as it is told to. */
export async function openReceiver(chain: Chain) {
  const address = await chain.deploy(receiverAbi, receiverBytecode)
  const contract = getContract({ abi: receiverAbi, address, client: chain.client })
  const account = chain.accounts.deployer
  return {
    address,
    contract,
    behave: (mood: keyof typeof moods, target: Address = address, calls: Hex[] = []) =>
      chain.mined(contract.write.behave([moods[mood], target, calls], { account })),
    /** Calls another contract as the holder. */
    act: (target: Address, data: Hex) => chain.mined(contract.write.act([target, data], { account })),
  }
}
