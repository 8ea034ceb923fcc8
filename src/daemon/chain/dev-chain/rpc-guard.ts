import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'
import { ChainUnavailable, type RpcCall, type RpcOutcome } from '../rpc-connection.ts'
import { corsFor, isNamed } from './rpc-origins.ts'

/** `guarded`: reads and signed transactions. `full`: everything that anvil can do. */
export type RpcMode = 'guarded' | 'full'

interface RpcGuard {
  url: string
  close(): Promise<void>
}

const maxBytes = 1024 * 1024
const maxCalls = 100

const rpcCall = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]),
  method: z.string(),
  params: z.array(z.unknown()).optional(),
})

class Refusal extends Error {
  override readonly name = 'Refusal'
  constructor(
    readonly status: number,
    message: string,
    readonly code = -32600,
  ) {
    super(message)
  }
}

export interface RpcGuardSettings {
  mode: RpcMode
  /** Any other if this one is in use; 0: any. */
  port: number
  /** Web pages that may read and send signed transactions: see isNamed. */
  origins: readonly string[]
}

/**
 * Publishes the dev chain on a loopback port, for people on this machine but not for web pages. A page's request has
 * another host, or an origin, or is not JSON unless a preflight was granted, which happens only for named origins.
 * @param perform runs calls on the chain
 */
export async function openRpcGuard(
  settings: RpcGuardSettings,
  perform: (calls: RpcCall[]) => Promise<RpcOutcome[]>,
): Promise<RpcGuard> {
  const server = createServer({ requestTimeout: 30_000 }, (request, response) => {
    respond(request, response, settings, perform).catch(() => response.destroy())
  })
  server.maxConnections = 512
  await listen(server, settings.port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE' || settings.port === 0) throw error
    return listen(server, 0)
  })
  return { url: `http://127.0.0.1:${portOf(server)}`, close: () => close(server) }
}

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })

const portOf = (server: Server): number => (server.address() as AddressInfo).port

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

type Perform = (calls: RpcCall[]) => Promise<RpcOutcome[]>

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  settings: RpcGuardSettings,
  perform: Perform,
) {
  let status: number
  let answer: unknown
  const { origin } = request.headers
  const named = origin !== undefined && isNamed(settings.origins, origin) ? origin : undefined
  for (const [name, value] of named === undefined ? [] : corsFor(named)) response.setHeader(name, value)
  try {
    const isPreflight = checkSender(request, named) === 'preflight'
    if (isPreflight) return void response.writeHead(204).end()
    // A page is limited to reads and signed transactions, whatever other clients may do.
    const mode = named === undefined ? settings.mode : 'guarded'
    ;({ status, answer } = await answerTo(parseBody(await readBody(request)), mode, perform))
  } catch (error) {
    const refusal = refusalOf(error)
    status = refusal.status
    answer = { jsonrpc: '2.0', id: null, error: { code: refusal.code, message: refusal.message } }
  }
  const body = JSON.stringify(answer)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 503 ? { 'retry-after': '1' } : {}),
    ...(status === 405 ? { allow: 'POST' } : {}),
    // The rest of a refused body is not read.
    ...(status === 200 ? {} : { connection: 'close' }),
  })
  response.end(body)
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof ChainUnavailable) return new Refusal(503, error.message, -32603)
  return new Refusal(500, 'The dev chain gave an invalid answer.', -32603)
}

function checkSender(
  { headers, method, socket }: IncomingMessage,
  named: string | undefined,
): 'preflight' | 'call' {
  const hosts = [`127.0.0.1:${socket.localPort}`, `localhost:${socket.localPort}`]
  // Someone else's DNS may point a name at this machine (DNS rebinding).
  if (!hosts.includes(headers.host ?? '')) throw new Refusal(403, `Host must be ${hosts.join(' or ')}.`)
  const isOwn = headers.origin === undefined || hosts.some((host) => headers.origin === `http://${host}`)
  const site = headers['sec-fetch-site']
  if (named === undefined && (!isOwn || (site !== undefined && site !== 'same-origin' && site !== 'none')))
    throw new Refusal(
      403,
      'Web pages may not use this chain. To open it to some, name their origins: TAPCHIP_DEV_RPC_ORIGINS',
    )
  if (named !== undefined && method === 'OPTIONS') return 'preflight'
  if (method !== 'POST') throw new Refusal(405, 'Send JSON-RPC by POST.')
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? ''))
    throw new Refusal(415, 'content-type must be application/json.')
  return 'call'
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length
    if (size > maxBytes) throw new Refusal(413, `The body is larger than ${maxBytes} bytes.`)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new Refusal(400, 'The body is not JSON.', -32700)
  }
}

/** The chain gets each call rewritten as it was parsed here: two parsers could read the same text differently. */
async function answerTo(body: unknown, mode: RpcMode, perform: Perform) {
  const isBatch = Array.isArray(body)
  const bodies: unknown[] = isBatch ? body : [body]
  if (bodies.length === 0 || bodies.length > maxCalls)
    throw new Refusal(400, `A batch has 1 to ${maxCalls} calls.`)
  const judged = bodies.map((one) => judge(one, mode))
  const { status, outcomes } = await performed(
    judged.flatMap(({ call }) => call ?? []),
    perform,
  )
  let next = 0
  const answers = judged.map(({ id, call, error }) => {
    const outcome = call ? (outcomes[next++] ?? { error: { code: -32603, message: 'no answer' } }) : { error }
    return { jsonrpc: '2.0', id, ...outcome }
  })
  return { status, answer: isBatch ? answers : answers[0] }
}

/** If the chain fails, each call gets the error under its own id, so that the client knows which call it is about. */
async function performed(
  calls: RpcCall[],
  perform: Perform,
): Promise<{ status: number; outcomes: RpcOutcome[] }> {
  try {
    return { status: 200, outcomes: await perform(calls) }
  } catch (error) {
    const { status, code, message } = refusalOf(error)
    return { status, outcomes: calls.map(() => ({ error: { code, message } })) }
  }
}

interface Judged {
  id: string | number | null
  call?: RpcCall
  error?: { code: number; message: string }
}

function judge(body: unknown, mode: RpcMode): Judged {
  const parsed = rpcCall.safeParse(body)
  if (!parsed.success)
    return { id: null, error: { code: -32600, message: 'Not a JSON-RPC 2.0 call with an id.' } }
  const { id, method, params = [] } = parsed.data
  if (mode === 'full' || isOpenMethod(method)) return { id, call: { method, params } }
  const message = `${method.slice(0, 64)} is not allowed here: reads and eth_sendRawTransaction are. For tests, TAPCHIP_DEV_RPC=full allows everything.`
  return { id, error: { code: -32601, message } }
}

/** Reads, and transactions that someone has signed. */
const open: ReadonlySet<string> = new Set([
  'eth_blobBaseFee',
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_createAccessList',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getBlockReceipts',
  'eth_getBlockTransactionCountByHash',
  'eth_getBlockTransactionCountByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getProof',
  'eth_getStorageAt',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByBlockNumberAndIndex',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
  'eth_sendRawTransaction',
  'eth_syncing',
  'net_listening',
  'net_version',
  'web3_clientVersion',
  'web3_sha3',
])

const isOpenMethod = (method: string): boolean => open.has(method)

/** True if a method is known not to change the chain. */
export const isRead = (method: string): boolean =>
  (open.has(method) && method !== 'eth_sendRawTransaction') || /^(debug_|trace_|txpool_)/.test(method)
