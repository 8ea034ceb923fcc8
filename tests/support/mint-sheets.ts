import { type Address, getAddress, padHex, parseAbi, toHex } from 'viem'
import type { ChainClient } from '../../src/daemon/chain/chain-client.ts'
import { acmeKey, derived, jacketItem } from './seeds.ts'

// Sheets of mints: half of the chips carry a token that nobody has, the others get one.

export const uidOf = (n: number): string => `04B0${n.toString(16).padStart(8, '0').toUpperCase()}80`
export const recipientOf = (n: number): Address => getAddress(padHex(toHex(0xcc0000 + n), { size: 20 }))
const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

export const mintSeed = (rows: number) => ({
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      items: [jacketItem],
      chipGroups: [
        {
          name: 'Jackets',
          chips: range(rows).map((n) => ({
            uid: uidOf(n),
            keySet: derived.id,
            ...(n % 2 === 0
              ? { item: 'jacket', variant: 's' }
              : { token: { contract: 'JKT', tokenId: String(10_000 + n) } }),
          })),
        },
      ],
    },
  ],
})

export const mintRows = (rows: number, recipient = recipientOf) =>
  range(rows).map((n) => ({ row: n, uid: uidOf(n), recipient: recipient(n) }))

const abi = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)'])

/** What the chain says of a contract: who has how many tokens, and in how many transactions they got there. */
export async function mintedAt(client: Pick<ChainClient, 'getContractEvents'>, address: Address) {
  const logs = await client.getContractEvents({ abi, address, eventName: 'Transfer', fromBlock: 0n })
  const holders = new Map<Address, number>()
  for (const { args } of logs) {
    const to = getAddress(args.to ?? '0x')
    holders.set(to, (holders.get(to) ?? 0) + 1)
  }
  return {
    holders,
    events: logs.length,
    tokens: new Set(logs.map(({ args }) => args.tokenId)).size,
    transactions: new Set(logs.map(({ transactionHash }) => transactionHash)).size,
  }
}
