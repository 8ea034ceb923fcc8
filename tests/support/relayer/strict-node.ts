import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Hex, keccak256, parseTransaction, type TransactionSerialized } from 'viem'
import * as z from 'zod'
import { senderOf } from '../sender-of.ts'

/**
 * What becomes of a request: lost before the node has it · the node has it and the answer is lost · the same, and the
 * caller hears nothing until its own timeout · answered as if the node had it, but the node has not · answered `null`,
 * as by a node that lags behind another one at the same URL · an answer that breaks off half-way and leaves the
 * connection open · one that comes byte by byte · one without an end · a page in place of an answer · the answer to
 * another question · one that is no answer to such a call.
 */
export type Fault =
  | 'lost'
  | 'answer-lost'
  | 'silent'
  | 'swallowed'
  | 'null'
  | Stall
  | 'html'
  | 'wrong-id'
  | { result: unknown }
  | { error: { code: number; message: string; data?: unknown } }

export type Stall = 'half' | 'dripping' | 'endless'

interface Call {
  id: number
  method: string
  params: unknown[]
}

interface Pooled {
  hash: Hex
  fee: bigint
  tip: bigint
}

/** The geth rules that anvil does not have, in front of an anvil. Sources: geth core/txpool/errors.go, legacypool/list.go. */
export interface StrictNode {
  url: string
  /** Decides about each call; undefined lets it through. */
  fault: ((method: string, params: unknown[]) => Fault | undefined) | undefined
  /** How many connections there were so far. */
  connections: number
  /** Requests that are not answered in full, and whose connection is open. */
  unanswered: number
  /** In place of anvil's. */
  chainId: number | undefined
  /** In place of the latest block's. */
  baseFee: bigint | undefined
  /** How often each method was called. */
  calls: Map<string, number>
  /** What it answered to transactions, when it was not a hash. */
  refusals: string[]
  /** The largest distance of a nonce that was sent from the one that is next. */
  farthest: number
  close(): Promise<void>
}

const refuse = (message: string) => ({ error: { code: -32000, message } })

/** @param upstream where the anvil listens; a function, since a killed one comes back elsewhere */
export async function openStrictNode(upstream: () => string): Promise<StrictNode> {
  const pools = new Map<string, Map<number, Pooled>>()
  const ask = async (body: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(upstream(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return z.record(z.string(), z.unknown()).parse(await answer.json())
  }
  const one = async (method: string, params: unknown[]) => ask({ jsonrpc: '2.0', id: 1, method, params })

  const judge = async (raw: TransactionSerialized) => {
    const { nonce = 0, gasPrice = 0n, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(raw)
    const { fee, tip } = { fee: maxFeePerGas ?? gasPrice, tip: maxPriorityFeePerGas ?? gasPrice }
    const from = senderOf(raw)
    const pool = pools.get(from) ?? new Map<number, Pooled>()
    pools.set(from, pool)
    const used = Number((await one('eth_getTransactionCount', [from, 'latest'])).result)
    for (const known of pool.keys()) if (known < used) pool.delete(known)
    const hash = keccak256(raw)
    if (nonce < used) return refuse(`nonce too low: next nonce ${used}, tx nonce ${nonce}`)
    const there = pool.get(nonce)
    // A reorganisation empties anvil's pool of what it takes back.
    const isKnown = there && (await one('eth_getTransactionByHash', [there.hash])).result !== null
    if (isKnown && there.hash === hash) return refuse('already known')
    if (isKnown && (fee * 100n < there.fee * 110n || tip * 100n < there.tip * 110n))
      return refuse('replacement transaction underpriced')
    node.farthest = Math.max(node.farthest, nonce - used)
    return { accept: () => pool.set(nonce, { hash, fee, tip }), hash }
  }

  const answerTo = async ({ method, params }: Call): Promise<Record<string, unknown> | Fault> => {
    node.calls.set(method, (node.calls.get(method) ?? 0) + 1)
    const fault = node.fault?.(method, params)
    if (fault === 'lost') return fault
    if (fault === 'null') return { result: null }
    if (typeof fault === 'object') return fault
    if (method === 'eth_chainId' && node.chainId !== undefined)
      return { result: `0x${node.chainId.toString(16)}` }
    let answer: Record<string, unknown>
    if (method === 'eth_sendRawTransaction') {
      const judged = await judge(String(params[0]) as TransactionSerialized)
      if ('error' in judged) {
        node.refusals.push(judged.error.message)
        return judged
      }
      if (fault === 'swallowed') return { result: judged.hash }
      answer = await one(method, params)
      if (!('error' in answer)) judged.accept()
      if (/already imported/.test(JSON.stringify(answer))) answer = refuse('already known')
    } else answer = await one(method, params)
    if (method === 'eth_getBlockByNumber' && node.baseFee !== undefined && answer.result)
      answer.result = { ...Object(answer.result), baseFeePerGas: `0x${node.baseFee.toString(16)}` }
    return fault ?? answer
  }

  const handle = async (text: string, response: ServerResponse) => {
    const body: Call | Call[] = JSON.parse(text)
    const answers = []
    // geth works through a batch in its order.
    for (const call of [body].flat()) {
      const answer = await answerTo(call)
      if (answer === 'silent') return
      if (answer === 'half' || answer === 'dripping' || answer === 'endless' || answer === 'html')
        return breakOff(response, answer)
      if (answer === 'wrong-id') {
        answers.push({ result: '0x1', jsonrpc: '2.0', id: call.id + 1_000_000 })
        continue
      }
      if (typeof answer === 'string') {
        response.destroy()
        return
      }
      answers.push({ ...answer, jsonrpc: '2.0', id: call.id })
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  }

  /** Begins an answer that is not one. */
  const breakOff = (response: ServerResponse, fault: Stall | 'html') => {
    if (fault === 'html') {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><h1>Welcome</h1></html>')
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('[{"jsonrpc":"2.0","result":"0x')
    if (fault === 'half') return
    const [piece, ms] = fault === 'dripping' ? ['0', 20] : ['0'.repeat(1024 * 1024), 0]
    const timer = setInterval(() => response.write(piece), ms)
    response.on('close', () => clearInterval(timer))
  }

  const server = createServer((request, response) => {
    node.unanswered += 1
    response.on('close', () => {
      node.unanswered -= 1
    })
    let text = ''
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    request.on('end', () => {
      handle(text, response).catch(() => response.destroy())
    })
  })
  server.on('connection', () => {
    node.connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: StrictNode = {
    url: `http://127.0.0.1:${port}`,
    fault: undefined,
    connections: 0,
    unanswered: 0,
    chainId: undefined,
    baseFee: undefined,
    calls: new Map(),
    refusals: [],
    farthest: 0,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return node
}
