import { connect } from 'node:net'
import { table } from './hostile-requests.ts'
import { acmeKey, alice, uids } from './seeds.ts'

// Bodies that a daemon reads while they arrive, byte by byte as the sender likes.

/** From the endpoint table: an endpoint to come is sent these on the day that it is added. */
export const streamedEndpoints = table.filter(({ spec }) => spec.stream).map(({ key }) => key)

interface Endpoint {
  path: string
  type: string
  /** Comes once, before all rows. */
  heading: string
  row: string
  /** Comes once, after all rows. */
  ending: string
}

const part = (name: string, value: string) =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const lines = { type: 'application/x-ndjson', heading: '', ending: '' }
const unknown = '04827F12647380'
const token = { contractAddress: alice, chainId: 31337, tokenId: '1' }
const metadata = { name: 'A', description: '', image: '', attributes: [], media_gallery: [] }

/** Batches that bodies are uploaded to, by the path that creates each. Whoever sends them has to begin these before. */
export const streamedBatches = {
  '/batches': { kind: 'badge-events create', name: 'streamed' },
  '/admin/batches': { kind: 'badge-events create', name: 'streamed-by-admin', team: 'Acme' },
} as const
const rowsOf = (path: string) => ({ ...lines, path, query: 'from=0' })
const hash = 'a'.repeat(64)
const image = { type: 'image/png', heading: '\x89PNG\r\n', row: 'x'.repeat(100), ending: '' }

const details: Record<string, Omit<Endpoint, 'path'> & { path?: string; query?: string }> = {
  'POST /batches/:id/rows': { ...rowsOf('/batches/streamed/rows'), row: '{"row":1,"name":"A"}\n' },
  'POST /admin/batches/:id/rows': {
    ...rowsOf('/admin/batches/streamed-by-admin/rows'),
    row: '{"row":1,"name":"A"}\n',
  },
  'POST /batches/:id/files/:hash': { ...image, path: `/batches/streamed/files/${hash}` },
  'POST /admin/batches/:id/files/:hash': { ...image, path: `/admin/batches/streamed-by-admin/files/${hash}` },
  'POST /chips/batch': { ...lines, row: `{"uid":"${uids.jacket}","redirectUrl":null}\n` },
  'POST /phygitals/transfer/check': { ...lines, row: `{"uid":"${unknown}","recipient":"alice.eth"}\n` },
  'POST /phygitals/transfer/batch': { ...lines, row: `{"uid":"${unknown}","recipient":"alice.eth"}\n` },
  'POST /phygitals/metadata/batch': { ...lines, row: `${JSON.stringify({ ...token, metadata })}\n` },
  'POST /admin/chips/apply': { ...lines, query: 'team=Acme', row: `{"uid":"${uids.blank}","label":"a"}\n` },
  'POST /admin/chips/import': {
    type: 'text/csv',
    query: 'team=Acme&chipGroup=Fuzz&keySet=101',
    heading: 'uid\n',
    row: `${uids.blank}\n`,
    ending: '',
  },
  'POST /badge-events': {
    type: 'multipart/form-data; boundary=b',
    heading: '',
    row: part('name', 'A'),
    ending: '--b--\r\n',
  },
}

/** @throws Error for an endpoint that has no example here yet */
export function streamedEndpoint(key: string): Endpoint {
  const found = details[key]
  if (!found) throw new Error(`add an example of ${key} to tests/support/streamed-bodies.ts`)
  const { query, path = key.split(' ')[1], ...rest } = found
  return { ...rest, path: `${path}${query === undefined ? '' : `?${query}`}` }
}

export interface StreamedBody {
  port: number
  path: string
  headers: Record<string, string>
  pieces: Iterable<string | Buffer>
  /** The Content-Length that is told, true or not; without it, the pieces are chunks. */
  length?: number | undefined
  /**
   * `whole`: the body has an end. `cut`: its connection is reset once all pieces are sent. `half`: it is half closed
   * then. `abandoned`: it is reset as soon as an answer begins, or all pieces are sent.
   */
  end: 'whole' | 'cut' | 'half' | 'abandoned'
  /** Waits for so long between two pieces. */
  pauseMs?: number
}

/** @returns all that came back until the connection closed, or the answer was complete */
export async function sendStreamed({
  port,
  path,
  headers,
  pieces,
  length,
  end,
  pauseMs = 0,
}: StreamedBody): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  socket.setTimeout(60_000, () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (end === 'abandoned') socket.resetAndDestroy()
  })
  socket.on('end', () => socket.end())
  const framing =
    length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }
  const all = { host: 'localhost', connection: 'close', ...framing, ...headers }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n`)
  for (const piece of pieces) {
    if (socket.destroyed || socket.writableEnded) break
    if (piece.length === 0) continue
    if (length === undefined) socket.write(`${Buffer.byteLength(piece).toString(16)}\r\n`)
    const isFlowing = socket.write(piece)
    if (length === undefined) socket.write('\r\n')
    if (!isFlowing)
      await Promise.race([closed, new Promise((resolve) => socket.once('drain', () => resolve(undefined)))])
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  if (end === 'whole') socket.write(length === undefined ? '0\r\n\r\n' : '')
  else if (end === 'half') socket.end()
  else await new Promise((resolve) => socket.write('', resolve))
  if (end === 'cut' || end === 'abandoned') socket.resetAndDestroy()
  await closed
  return text
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)

export function* repeated(piece: string | Buffer, times: number): Generator<string | Buffer> {
  for (let n = 0; n < times; n += 1) yield piece
}

/** @param token of an administrator */
export const credentialsOf = (path: string, token: string): Record<string, string> =>
  path.startsWith('/admin') ? { authorization: `Bearer ${token}` } : { 'x-svc-api-key': acmeKey }
