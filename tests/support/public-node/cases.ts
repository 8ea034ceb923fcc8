import { parseGwei } from 'viem'
import { behind, laggingNonce, lostReceipts, missingBlocks } from './lag.ts'
import {
  batches,
  beyondRate,
  callsPerSecond,
  gas,
  hasItAlready,
  legacy,
  logs,
  type Mode,
  minimumTip,
  notThere,
  nowAndThen,
  only,
  refusal,
  refuseSends,
  roomFor,
  strictNonces,
  suggestedTip,
  swallow,
  tipsOfOthers,
  tooManyRequests,
} from './modes.ts'
import type { Setting } from './stage.ts'
import {
  alreadyThere,
  tooHighNonce,
  tooLittleGas,
  tooManyBlocks,
  tooManyWords,
  tooSmallTip,
} from './wordings.ts'

export interface Case extends Setting {
  name: string
  /**
   * Nodes lose what they are sent until all is recorded; `interference`: meanwhile somebody takes a nonce of the relayer
   * and sends one of its calls, so that logs have to be searched.
   */
  lost?: true | 'interference'
  /** The least tip that the chain takes; 1 by default. */
  gwei?: number
}

const one = (...modes: Mode[]): Pick<Setting, 'nodes'> => ({ nodes: [modes] })
const named = <T>(table: Record<string, T>) => Object.entries(table)
const badGateway: Mode = () => ({ text: '<html>Bad Gateway</html>', status: 502 })
const tip = parseGwei('1')

/** Of nodes that can be used from the start to the end, whatever they do otherwise. */
export const cases: Case[] = [
  ...named(tooLittleGas).map(
    ([words, say]): Case => ({
      name: `60,000 more gas a transaction, told as by ${words}`,
      lost: true,
      ...one(gas(60_000, say)),
    }),
  ),
  { name: 'claims that need 300,000 gas', ...one(gas(200_000, () => 'intrinsic gas too low')) },

  ...[0, 1, 3, 10].flatMap((limit) =>
    (['one error', 'each an error'] as const).map((as) => ({
      name: `batches of at most ${limit}, others answered by ${as}`,
      ...one(batches(limit, as, tooManyWords)),
    })),
  ),
  ...[400, 403, 413, 429, 500, 503].map((status) => ({
    name: `batches of at most 3, others answered by HTTP ${status}`,
    ...one(batches(3, status, tooManyWords)),
  })),

  { name: 'somebody with the same key, and a copied call', age: 1000, lost: 'interference' },
  ...(
    [
      [5, 'QuickNode'],
      [10, 'Alchemy'],
      [500, 'Alchemy'],
      [100, 'a limit of results'],
    ] as const
  ).map(
    ([range, words]): Case => ({
      name: `logs of ${range} blocks at once, limited as by ${words}`,
      age: 1000,
      lost: 'interference',
      ...one(logs(range, tooManyBlocks[words])),
    }),
  ),

  ...named(tooSmallTip).map(([words, say]) => ({
    name: `a tip of 25 gwei where 1 is suggested, told as by ${words}`,
    gwei: 25,
    ...one(suggestedTip(tip), tipsOfOthers(tip), minimumTip(parseGwei('25'), say)),
  })),
  {
    name: 'no suggested tip (-32601)',
    ...one(only(['eth_maxPriorityFeePerGas'], notThere), tipsOfOthers(tip)),
  },
  {
    name: 'no suggested tip (-32004)',
    ...one(
      only(['eth_maxPriorityFeePerGas'], () => ({ error: 'Method not supported', code: -32004 })),
      tipsOfOthers(tip),
    ),
  },
  {
    name: 'neither a suggested tip nor a history',
    ...one(only(['eth_maxPriorityFeePerGas', 'eth_feeHistory'], notThere)),
  },
  { name: 'a suggested tip of 150 gwei', ...one(suggestedTip(parseGwei('150')), tipsOfOthers(tip)) },

  ...[1, 3, 8].flatMap((blocks) =>
    [1, 3].map((nth) => ({
      name: `nonces that lag ${blocks} blocks${nth === 1 ? '' : ' now and then'}`,
      ...one(laggingNonce(blocks, nth)),
    })),
  ),
  { name: 'receipts that are not there now and then', confirmations: 3, ...one(lostReceipts()) },
  { name: 'blocks that are not there now and then', confirmations: 3, ...one(missingBlocks()) },
  {
    name: 'heads that jump back',
    confirmations: 3,
    ...one(only(['eth_blockNumber', 'eth_getBlockByNumber'], behind(0, 1, 0, 2))),
  },
  { name: 'three nodes behind one URL, of which two lag', confirmations: 2, ...one(behind(0, 1, 3)) },
  {
    name: 'all of these lags',
    confirmations: 3,
    ...one(laggingNonce(2, 3), lostReceipts(), missingBlocks(), behind(0, 1, 3)),
  },

  ...(['latest', 'pending'] as const).map((of) => ({
    name: `no nonce above the account's ${of} one`,
    ...one(strictNonces(tooHighNonce, of)),
  })),
  { name: 'room for four transactions of an account', ...one(roomFor(4, 'account limit exceeded')) },
  { name: 'lost answers, and then nine ways to have it already', ...one(hasItAlready(alreadyThere)) },

  ...['transaction type not supported', 'invalid transaction type'].map((words) => ({
    name: `no EIP-1559, told as "${words}"`,
    ...one(legacy(words)),
  })),

  {
    name: 'at most ten requests a second',
    ...one(
      beyondRate(
        5,
        tooManyRequests(() => '1'),
      ),
    ),
  },
  {
    name: 'at most ten requests a second, told by an error',
    ...one(beyondRate(10, () => refusal(200, 'Your app has exceeded its compute units per second', 429))),
  },
  { name: 'a bad gateway before one of eight requests', ...one(nowAndThen(8, badGateway)) },
  { name: 'a bad gateway before each second request', ...one(nowAndThen(2, badGateway)) },

  { name: 'a limit of 20 calls a second', ...one(callsPerSecond(20)) },
  { name: 'two nodes, one of which limits requests', nodes: [[tooManyRequests(() => '5')], []] },
  { name: 'two nodes, one of which lags', nodes: [[behind(5)], []] },
  { name: 'two nodes, one of which takes single calls alone', nodes: [[batches(0, 413, tooManyWords)], []] },
  { name: 'two nodes, one of which swallows what is sent', nodes: [[swallow], []] },
  {
    name: 'two nodes, one of which fails',
    nodes: [[badGateway], []],
  },
]

interface Unusable extends Pick<Case, 'name' | 'lost' | 'gwei'> {
  modes: readonly Mode[]
  /** The node's own, wherever the trouble is told. */
  words: RegExp
}

/** What keeps transactions from going on, and has to be told of. */
export const unusable: Unusable[] = [
  {
    name: 'a node that searches no logs',
    lost: 'interference',
    modes: [logs(0, tooManyBlocks.never)],
    words: /not available on your plan/,
  },
  { name: 'a limit of requests', modes: [tooManyRequests(() => '2')], words: /429|limit/ },
  {
    name: 'a limit of requests until a date',
    modes: [tooManyRequests(() => new Date(Date.now() + 2000).toUTCString())],
    words: /429|limit/,
  },
  {
    name: 'a node that takes no transactions',
    modes: [refuseSends('sender not in the allowlist')],
    words: /sender not in the allowlist/,
  },
  {
    name: 'transactions that need 3,000,000 gas',
    modes: [gas(3_000_000, tooLittleGas.geth)],
    words: /intrinsic gas too low|3,\d{3},\d{3}/,
  },
  {
    name: 'a tip above the cap',
    gwei: 100,
    modes: [minimumTip(parseGwei('150'), tooSmallTip.geth)],
    words: /minimum needed 150000000000|fees/,
  },
  { name: 'a bad gateway', modes: [badGateway], words: /502/ },
  { name: 'a node that never answers', modes: [() => 'silence'], words: /did not answer|silent/ },
]
