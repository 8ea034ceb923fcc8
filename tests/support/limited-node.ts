import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Call {
  id: number
  method: string
  params: unknown[]
}

type Refusal = (response: ServerResponse, calls: readonly Call[]) => void

const error = (id: unknown, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

/** As nodes refuse batches that are too large for them. */
export const batchRefusals: Readonly<Record<string, Refusal>> = {
  'one error': (response) => response.end(JSON.stringify(error(null, -32600, 'batch too large'))),
  'an array of errors': (response, calls) =>
    response.end(JSON.stringify(calls.map(({ id }) => error(id, -32600, 'not more than a few calls')))),
  'errors for some': (response, calls) =>
    response.end(
      JSON.stringify(
        calls.map(({ id }, index) =>
          index === 0 ? { jsonrpc: '2.0', id, result: '0x1' } : error(id, -32000, 'batch limit exceeded'),
        ),
      ),
    ),
  'HTTP 400': (response) => response.writeHead(400).end('Bad Request'),
  'HTTP 413': (response) => response.writeHead(413).end('<html></html>'),
  'HTTP 429': (response) => response.writeHead(429).end(JSON.stringify(error(null, -32005, 'too many'))),
  'HTTP 500 with an error': (response, calls) =>
    response.writeHead(500).end(JSON.stringify(error(calls[0]?.id, -32603, 'internal error'))),
  'a closed connection': (response) => response.destroy(),
  'fewer answers': (response, [first]) =>
    response.end(JSON.stringify([{ jsonrpc: '2.0', id: first?.id, result: '0x1' }])),
}

const word = `0x${'11'.repeat(32)}`
const fees = { baseFeePerGas: '0x7' }

/** What a node answers to a call: a result, or an error; undefined leaves it to the rest. */
export type Answer = { result: unknown } | { error: { code: number; message: string; data?: unknown } }

/** A node that answers from memory, so that tests need no chain. */
export async function openLimitedNode() {
  const respond = (text: string, response: ServerResponse) => {
    const body: Call | Call[] = JSON.parse(text)
    const calls = [body].flat()
    node.requests.push(calls.map(({ method }) => method))
    if (node.isSilent) return
    if (node.isDown) {
      response.destroy()
      return
    }
    if (node.tooMany !== undefined) {
      const header = node.tooMany === '' ? {} : { 'retry-after': node.tooMany }
      response.writeHead(429, header).end('Too Many Requests')
      return
    }
    const isTooLarge = Array.isArray(body) && calls.length > node.maxBatch
    if (isTooLarge || !node.admit(calls.length)) {
      node.refused += 1
      node.refuse(response, calls)
      return
    }
    const answers = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, ...node.answer(call) }))
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => respond(Buffer.concat(chunks).toString(), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node = {
    name: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/v2/secret-key`,
    /** The methods of each request so far. */
    requests: [] as string[][],
    /** How many batches were refused for their size. */
    refused: 0,
    /** 0: it takes no batches at all. */
    maxBatch: 1000,
    refuse: ((response) => response.writeHead(400).end()) as Refusal,
    /** Whether it takes that many calls now. */
    admit: (_count: number): boolean => true,
    /** The Retry-After of an HTTP 429 to everything; empty: without the header. */
    tooMany: undefined as string | undefined,
    isSilent: false,
    /** It closes the connection in place of an answer. */
    isDown: false,
    chainId: 1,
    head: 100,
    /** Decides about calls before the rest does. */
    own: undefined as ((call: Pick<Call, 'method' | 'params'>) => Answer | undefined) | undefined,
    answer(call: Call): Answer {
      const own = node.own?.(call)
      if (own !== undefined) return own
      if (call.method === 'eth_chainId') return { result: `0x${node.chainId.toString(16)}` }
      if (call.method === 'eth_blockNumber') return { result: `0x${node.head.toString(16)}` }
      const asked = Number(call.params[0])
      const block = Number.isNaN(asked) ? node.head : asked
      if (call.method === 'eth_getBlockByNumber')
        return {
          result: {
            number: `0x${block.toString(16)}`,
            hash: word,
            timestamp: '0x1',
            ...fees,
            transactions: [],
          },
        }
      if (call.method === 'eth_feeHistory') return { result: { gasUsedRatio: [0.5], reward: [['0x1']] } }
      if (call.method === 'eth_estimateGas') return { result: '0x5208' }
      if (call.method === 'eth_getLogs') return { result: [] }
      if (call.method === 'eth_sendRawTransaction') return { result: word }
      return { result: '0x1' }
    },
    count: (method: string): number => node.requests.flat().filter((one) => one === method).length,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return node
}

export type LimitedNode = Awaited<ReturnType<typeof openLimitedNode>>
