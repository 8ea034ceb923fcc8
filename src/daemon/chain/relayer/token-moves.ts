import { type Address, getAddress, type Hex } from 'viem'
import { phygitalAbi } from '../artifacts/phygital.ts'
import type { ChainClient } from '../chain-client.ts'
import { logsNewestFirst } from '../logs.ts'
import type { LaterMove, SinceQuestion } from './builder.ts'

/** What has become of a token, apart from what other intents did. */
export async function movesSince(
  { contract, recipient, tokenId }: { contract: Address; recipient: Address; tokenId: string },
  { client, fromBlock: from, untilBlock: to, others }: SinceQuestion,
): Promise<LaterMove | undefined> {
  const moves: { hash: Hex; block: number; to: Address }[] = []
  for await (const log of transfersOf(client, contract, { tokenId: BigInt(tokenId) }, { from, to }))
    if (!others.has(log.transactionHash))
      moves.push({
        hash: log.transactionHash,
        block: Number(log.blockNumber),
        to: getAddress(String(log.args.to)),
      })
  const own = moves.find((move) => move.to === recipient)
  if (own) return { kind: 'done', ...own }
  const [last] = moves
  return last && { kind: 'overtaken', ...last }
}

/** A token's transfers, newest first. @throws LogsUnreadable */
export const transfersOf = (
  client: ChainClient,
  address: Address,
  args: { tokenId: bigint; to?: Address },
  range: { from: bigint; to: bigint },
) =>
  logsNewestFirst(client, range, (fromBlock, toBlock) =>
    client.getContractEvents({ abi: phygitalAbi, address, eventName: 'Transfer', args, fromBlock, toBlock }),
  )
