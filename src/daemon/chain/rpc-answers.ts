import { MalformedAnswer, type RpcCall } from './rpc-connection.ts'

type Check = (result: unknown, params: readonly unknown[]) => boolean

const matches =
  (form: RegExp): Check =>
  (value) =>
    typeof value === 'string' && form.test(value)

const bytes = matches(/^0x(?:[0-9a-f]{2})*$/i)
const hash = matches(/^0x[0-9a-f]{64}$/i)
const address = matches(/^0x[0-9a-f]{40}$/i)
/** Up to 256 bits. */
const quantity = matches(/^0x[0-9a-f]{1,64}$/i)

const atMost =
  (max: number): Check =>
  (value) =>
    quantity(value, []) && Number(value) <= max

const number = atMost(Number.MAX_SAFE_INTEGER)

const isEqual = (one: unknown, other: unknown): boolean =>
  typeof one === 'string' && typeof other === 'string' && one.toLowerCase() === other.toLowerCase()

/** Checks the named fields of an object; others may be anything. */
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value, params) =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(checks).every(([name, check]) => check(Reflect.get(value, name), params))

const either =
  (...checks: readonly Check[]): Check =>
  (value, params) =>
    checks.some((check) => check(value, params))

const list =
  (check: Check): Check =>
  (value, params) =>
    Array.isArray(value) && value.every((item) => check(item, params))

const nothing: Check = (value) => value === null
const absent: Check = (value) => value === undefined || value === null
const sameAsRequested: Check = (value, [expected]) => isEqual(value, expected)
/** The number of the requested block, or any for the latest one. */
const sameBlockAsRequested: Check = (value, [expected]) =>
  number(value, []) && (number(expected, []) ? Number(value) === Number(expected) : true)

const block = fields({
  number: sameBlockAsRequested,
  hash,
  timestamp: number,
  baseFeePerGas: either(absent, quantity),
  transactions: list(either(hash, fields({ hash, from: address, nonce: number }))),
})

const receipt = fields({
  transactionHash: sameAsRequested,
  blockHash: hash,
  blockNumber: number,
  status: (value) => value === '0x0' || value === '0x1',
})

const pendingReceipt = fields({ transactionHash: sameAsRequested, blockHash: nothing })

const log = fields({
  address,
  topics: list(hash),
  data: bytes,
  blockNumber: number,
  transactionHash: hash,
  logIndex: number,
})

/** No account of ours will ever send this many. */
const maxNonce = 2 ** 32
/** More than any block of any chain can hold. */
const maxGas = 2 ** 50

/** The methods used here, and the shapes of their answers (ethereum/execution-apis). */
const shapes: Readonly<Record<string, Check>> = {
  eth_chainId: number,
  eth_blockNumber: number,
  eth_getTransactionCount: atMost(maxNonce),
  eth_estimateGas: atMost(maxGas),
  eth_getBalance: quantity,
  eth_gasPrice: quantity,
  eth_maxPriorityFeePerGas: quantity,
  eth_feeHistory: fields({
    gasUsedRatio: list((ratio) => typeof ratio === 'number'),
    reward: either(absent, list(list(quantity))),
  }),
  eth_call: bytes,
  eth_getCode: bytes,
  eth_sendRawTransaction: hash,
  eth_getBlockByNumber: either(nothing, block),
  eth_getTransactionReceipt: either(nothing, pendingReceipt, receipt),
  eth_getTransactionByHash: either(nothing, fields({ hash: sameAsRequested, input: bytes })),
  eth_getLogs: list(log),
}

/**
 * Checks the shape of a node's answer. A malformed answer is treated as none, not as news about the chain.
 * @throws MalformedAnswer
 */
export function assertShape({ method, params = [] }: RpcCall, result: unknown): void {
  const check = shapes[method]
  if (check === undefined || check(result, params)) return
  throw new MalformedAnswer(`the node's answer to ${method} is malformed`)
}
