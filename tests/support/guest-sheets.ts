import { type Address, getAddress, parseAbi } from 'viem'
import type { ChainClient } from '../../src/daemon/chain/chain-client.ts'
import { recipientOf } from './mint-sheets.ts'
import { acmeKey } from './seeds.ts'

// Sheets of guests: half of them get a token of one event of a guestbook, half of another.

export const guestSeed = {
  version: 1,
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      guestbookContracts: [
        {
          symbol: 'GB',
          name: 'Guests',
          chainId: 31337,
          events: ['1', '2'].map((tokenId) => ({ name: `Night ${tokenId}`, tokenId })),
        },
      ],
    },
  ],
}

export const guestRows = (rows: number) =>
  Array.from({ length: rows }, (_, at) => ({
    row: at + 1,
    eventId: 1 + (at % 2),
    recipient: recipientOf(at + 1),
  }))

const abi = parseAbi([
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
])

/** What the chain says of a guestbook: who has how many tokens, and in how many transactions they got there. */
export async function mintedByGuestbook(client: Pick<ChainClient, 'getContractEvents'>, address: Address) {
  const logs = await client.getContractEvents({ abi, address, eventName: 'TransferSingle', fromBlock: 0n })
  const holders = new Map<Address, number>()
  for (const { args } of logs) {
    const to = getAddress(args.to ?? '0x')
    holders.set(to, (holders.get(to) ?? 0) + 1)
  }
  const transactions = new Set(logs.map(({ transactionHash }) => transactionHash)).size
  return { holders, events: logs.length, transactions }
}
