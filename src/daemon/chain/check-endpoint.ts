import { Deadline } from '../outbound/exchange.ts'
import { plainText } from '../outbound/foreign-text.ts'
import { messageOf } from './node-answer.ts'
import { plainGas } from './relayer/gas.ts'
import { MalformedAnswer, type RpcOutcome, withoutUrls } from './rpc-connection.ts'
import type { RpcEndpoint } from './rpc-endpoint.ts'

/** `warn`: transfers work in spite of it; `fail`: none can be sent through this URL. */
export interface EndpointCheck {
  status: 'ok' | 'warn' | 'fail'
  detail: string
  fix: string | null
}

interface Chain {
  id: number
  relayer: string
  /** How many blocks back logs can be searched; undefined if the chain does not say. */
  expiryBlocks: Promise<number | undefined>
}

type Ask = (method: string, ...params: unknown[]) => Promise<RpcOutcome>

const maxMs = 15_000
const fail = (detail: string, fix: string): EndpointCheck => ({ status: 'fail', detail, fix })
const ok = (detail: string): EndpointCheck => ({ status: 'ok', detail, fix: null })
const hex = (number: number): string => `0x${number.toString(16)}`
const counted = (number: number): string => number.toLocaleString('en-US')

/** The batch size of a busy relayer. */
const busyBatch = 64

/** Checks one URL by making the calls that a transfer makes. */
export async function checkEndpoint(endpoint: RpcEndpoint, chain: Chain): Promise<EndpointCheck[]> {
  const deadline = new Deadline(
    maxMs,
    () => new Error(`it did not answer all calls within ${maxMs / 1000} s`),
  )
  try {
    return await deadline.race(
      checksOf((method, ...params) => endpoint.ask({ method, params }), endpoint, chain),
    )
  } catch (error) {
    const setting = `TAPCHIP_RPC_${chain.id}`
    const fix =
      endpoint.state === 'limited'
        ? `use a URL with a higher limit in ${setting}, or several`
        : `check this URL in ${setting}, and the service behind it`
    return [fail(withoutUrls(messageOf(error)), fix)]
  } finally {
    deadline.clear()
  }
}

async function checksOf(ask: Ask, endpoint: RpcEndpoint, chain: Chain): Promise<EndpointCheck[]> {
  const setting = `TAPCHIP_RPC_${chain.id}`
  const actual = await ask('eth_chainId')
  if (!('result' in actual) || Number(actual.result) !== chain.id)
    return [fail(whichChain(actual), `set ${setting} to URLs of chain ${chain.id}`)]
  const block = await ask('eth_getBlockByNumber', 'latest', false)
  if (!('result' in block))
    return [fail(`it returns no latest block${describeOutcome(block)}`, `use another URL in ${setting}`)]
  const { number, baseFeePerGas } = Object(block.result)
  const refused = (what: string, outcome: RpcOutcome) => [
    fail(`${what}${describeOutcome(outcome)}`, `use another URL in ${setting}`),
  ]
  const nonce = async () => {
    const outcome = await ask('eth_getTransactionCount', chain.relayer, number)
    return 'result' in outcome
      ? []
      : refused("it does not report an account's nonce at a given block", outcome)
  }
  const gas = async () => {
    const outcome = await ask('eth_estimateGas', { from: chain.relayer, to: chain.relayer })
    // Most calls are known to take less gas than their limit.
    if (!('result' in outcome))
      return refused('it does not estimate gas', outcome).map((check) => ({
        ...check,
        status: 'warn' as const,
      }))
    const used = Number(outcome.result)
    return used > plainGas ? [ok(`an empty transaction needs ${counted(used)} gas`)] : []
  }
  const found = await Promise.all([
    nonce(),
    gas(),
    tip(ask, baseFeePerGas !== undefined),
    batch(ask, endpoint),
    logs(ask, chain, Number(number)),
  ])
  const legacy = baseFeePerGas === undefined ? [ok('no base fee: legacy transactions')] : []
  return [ok(`block ${Number(number)}`), ...legacy, ...found.flat()]
}

const whichChain = (actual: RpcOutcome): string =>
  'result' in actual
    ? `it answers for chain ${Number(actual.result)}`
    : `it does not say which chain it is${describeOutcome(actual)}`

const describeOutcome = (outcome: RpcOutcome): string =>
  'error' in outcome ? ` ("${withoutUrls(plainText(outcome.error.message))}")` : ''

/** The same code at the address that a transfer uses. */
async function tip(ask: Ask, hasBaseFee: boolean): Promise<EndpointCheck[]> {
  // A malformed answer counts as no answer.
  const optional: Ask = (method, ...params) =>
    ask(method, ...params).catch((error: unknown) => {
      if (error instanceof MalformedAnswer) return { error: { code: 0, message: error.message } }
      throw error
    })
  if (hasBaseFee) {
    if ('result' in (await optional('eth_maxPriorityFeePerGas'))) return []
    const history = await optional('eth_feeHistory', hex(20), 'latest', [50])
    if ('result' in history) return [ok('tips from the fee history')]
  }
  const price = await ask('eth_gasPrice')
  if ('result' in price) return hasBaseFee ? [ok('tips from the gas price')] : []
  const what = hasBaseFee ? 'no tip, no fee history, and no gas price' : 'no gas price'
  return [fail(`it gives ${what}${describeOutcome(price)}`, 'use a node that answers eth_gasPrice')]
}

async function batch(ask: Ask, endpoint: RpcEndpoint): Promise<EndpointCheck[]> {
  await Promise.all(Array.from({ length: busyBatch }, () => ask('eth_blockNumber')))
  const { learnt } = endpoint.batches
  if (learnt === undefined) return []
  return [ok(learnt === 1 ? 'single calls only' : `batches of at most ${learnt} calls`)]
}

/** A transfer needs the logs since it was signed, to find out whether its call was copied. */
async function logs(ask: Ask, { relayer, ...chain }: Chain, head: number): Promise<EndpointCheck[]> {
  const expiryBlocks = await chain.expiryBlocks
  if (expiryBlocks === undefined) return []
  let outcome: RpcOutcome | undefined
  for (let blocks = expiryBlocks; blocks >= 1; blocks = Math.floor(blocks / 2)) {
    const fromBlock = hex(Math.max(0, head - blocks + 1))
    outcome = await ask('eth_getLogs', { address: relayer, fromBlock, toBlock: hex(head) })
    if ('result' in outcome)
      return blocks === expiryBlocks ? [] : [ok(`logs of at most ${counted(blocks)} blocks at a time`)]
  }
  const detail = `it does not search logs${outcome ? describeOutcome(outcome) : ''}: a transfer that somebody copied cannot continue`
  return [{ status: 'warn', detail, fix: 'use a node that answers eth_getLogs' }]
}
