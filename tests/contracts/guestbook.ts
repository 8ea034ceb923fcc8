import { type Address, getContract, stringToHex, type TransactionReceipt } from 'viem'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import {
  guestbookFactoryAbi,
  guestbookFactoryBytecode,
} from '../../src/daemon/chain/artifacts/guestbook-factory.ts'
import { type Chain, eventsOf } from './chain.ts'

export const serviceURL = 'https://tap.example'

/** A name that a mint is known by. */
export const intent = (name: string) => stringToHex(name, { size: 32 })

export async function openFactory(chain: Chain) {
  const address = await chain.deploy(guestbookFactoryAbi, guestbookFactoryBytecode)
  const contract = getContract({ abi: guestbookFactoryAbi, address, client: chain.client })
  const deployment = {
    salt: intent('salt'),
    name: 'Guests',
    symbol: 'GB',
    serviceURL,
    admin: chain.accounts.admin,
    minter: chain.accounts.minter,
  }
  return { address, contract, deployment }
}

/** A guestbook that `admin` owns and `minter` writes into. */
export async function openGuestbook(chain: Chain) {
  const { contract: factory, deployment } = await openFactory(chain)
  const receipt = await chain.mined(factory.write.deploy([deployment], { account: chain.accounts.deployer }))
  const address = await factory.read.addressOf([deployment])
  const contract = getContract({ abi: guestbookAbi, address, client: chain.client })
  const as = { account: chain.accounts.minter }
  return {
    address,
    contract,
    factory,
    deployment,
    receipt,
    createEvent: (tokenId: bigint) => chain.mined(contract.write.createEvent([tokenId], as)),
    mint: (to: Address, tokenId: bigint, name: string) =>
      chain.mined(contract.write.mint([to, tokenId, intent(name)], as)),
    mintBatch: (mints: { to: Address; tokenId: bigint; name: string }[]) =>
      chain.mined(
        contract.write.mintBatch(
          [mints.map(({ to, tokenId, name }) => ({ to, tokenId, intentId: intent(name) }))],
          as,
        ),
      ),
    balance: (account: Address, tokenId: bigint) => contract.read.balanceOf([account, tokenId]),
  }
}

export const guestbookEvents = (receipt: TransactionReceipt) => eventsOf(guestbookAbi, receipt)
