import { getAddress, isAddressEqual, parseAbi } from 'viem'
import { getLogs, getTransactionReceipt } from 'viem/actions'
import { expect } from 'vitest'
import { createChainClient } from '../../../src/daemon/chain/chain-client.ts'
import { remoteRelayer } from '../remote-chain.ts'
import { rpcTransport } from '../rpc-transport.ts'
import { eventually, recipients, type Stage, sheetRows, tokenOf } from './stage.ts'

/** By the chain alone. */
export interface Spent {
  transactions: number
  failed: number
  wei: bigint
}

/**
 * Waits until all actions have ended. Each has had its effect once: by the chain, by the store, and by what webhooks were
 * told. @returns what it has cost
 */
export async function assertOnce(stage: Stage): Promise<Spent> {
  await stage.allSettled()
  const rows = await stage.transactions()
  const { state } = (await stage.cancelled()) ?? {}
  expect(await moves(stage)).toEqual(wantedMoves(state === 'confirmed'))
  const failed = rows.filter((row) => row.kind !== 'filler' && row.state !== 'confirmed')
  expect(failed.map(({ kind, reason }) => `${kind}: ${reason}`)).toEqual(
    state === 'cancelled' ? ['phygital-mint: a mistake'] : [],
  )
  const count = await stage.chain.rpc('eth_getTransactionCount', [remoteRelayer.address, 'latest'])
  const sender = await stage.ctx.db.read.selectFrom('senders').selectAll().executeTakeFirstOrThrow()
  expect(Number(count)).toBe(sender.nextNonce)

  const own = rows.filter(({ teamId, firstHash }) => teamId !== null && !isEarlier(stage, firstHash))
  await eventually(() => told(stage), own.map(({ firstHash }) => String(firstHash)).sort())
  await eventually(() => stage.chainWord(), 'ok')
  return spentIn(stage)
}

/** Each move of a token: `1 0x…`, and `badge 0x…`. */
async function moves(stage: Stage): Promise<string[]> {
  const client = directClient(stage)
  const [moved, minted] = parseAbi([
    'event Transfer(address indexed from, address indexed to, uint256 indexed id)',
    'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  ])
  const of = (symbol: string) => ({ fromBlock: BigInt(stage.age), address: stage.addressOf(symbol) })
  const tokens = await getLogs(client, { ...of('JKT'), event: moved })
  const badges = await getLogs(client, { ...of('GB'), event: minted })
  const all = [
    ...tokens.map(({ args }) => `${args.id} ${args.to}`),
    ...badges.map(({ args }) => `badge ${args.to}`),
  ]
  return all.sort()
}

const wantedMoves = (isCancelledOneToo: boolean): string[] =>
  [
    `${tokenOf.transfer} ${recipients.transfer}`,
    ...(isCancelledOneToo ? [`${tokenOf.cancel} ${recipients.cancel}`] : []),
    ...Array.from({ length: sheetRows }, (_, row) => `${tokenOf.sheet(row)} ${recipients.sheet}`),
    `badge ${recipients.badge}`,
  ].sort()

/** The first hashes of what webhooks were told of as settled, however often it was delivered. */
function told(stage: Stage): string[] {
  const settled = stage.receiver.received.filter(({ type }) => type === 'transaction.settled')
  const hashes = [...new Map(settled.map(({ id, data }) => [id, String(data.initialTxHash)])).values()]
  // What the actions stand on may have ended before there was a webhook. Nothing is told twice.
  return hashes.filter((hash, at) => !isEarlier(stage, hash) || hashes.indexOf(hash) !== at).sort()
}

const isEarlier = (stage: Stage, hash: string | null) => hash !== null && stage.earlierHashes.has(hash)

async function spentIn(stage: Stage): Promise<Spent> {
  const client = directClient(stage)
  const sum = { transactions: 0, failed: 0, wei: 0n }
  const head = Number(await stage.chain.rpc('eth_blockNumber'))
  for (let number = stage.age + 1; number <= head; number++) {
    const block = await client.getBlock({ blockNumber: BigInt(number), includeTransactions: true })
    for (const { from, hash } of block.transactions) {
      if (!isAddressEqual(getAddress(from), remoteRelayer.address) || hash === stage.stolen) continue
      const { gasUsed, effectiveGasPrice, status } = await getTransactionReceipt(client, { hash })
      sum.transactions += 1
      sum.wei += gasUsed * effectiveGasPrice
      if (status !== 'success') sum.failed += 1
    }
  }
  return sum
}

const directClient = ({ chain }: Stage) => createChainClient({ transport: rpcTransport(chain.anvil.url) })
