import { readdirSync, readFileSync } from 'node:fs'
import { type Agent, request } from 'node:http'

// What anybody has who can reach a port: HTTP, word by word, and the list of processes.

export interface Reply {
  /** 0: the connection broke, or nothing came in time. */
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  // What a test reads of an answer is what it asserts.
  // biome-ignore lint/suspicious/noExplicitAny: the answers of all endpoints
  body: any
}

export interface Sent {
  method?: string
  headers?: Record<string, string>
  /** Text and bytes go as they are, anything else as JSON. */
  body?: unknown
  socketPath?: string
  /** The address that it comes from: on Linux all of 127.0.0.0/8 is there. */
  from?: string
  agent?: Agent
  timeoutMs?: number
}

/** One HTTP request with any header, over TCP or a Unix socket. Never rejects. */
export function send(url: string, sent: Sent = {}): Promise<Reply> {
  const { method, headers = {}, body, socketPath, from, agent, timeoutMs = 30_000 } = sent
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body === undefined
  const payload = isRaw ? body : JSON.stringify(body)
  const began = new URL(url)
  return new Promise((resolve) => {
    const nothing = () => resolve({ status: 0, headers: {}, text: '', body: undefined })
    const call = request(
      {
        ...(socketPath === undefined ? { host: began.hostname, port: began.port } : { socketPath }),
        // Not through URL: a path may be as odd as the sender likes.
        path: url.slice(began.origin.length) || '/',
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          ...(isRaw ? {} : { 'content-type': 'application/json' }),
          ...(payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }),
          ...headers,
        },
        ...(from === undefined ? {} : { localAddress: from }),
        ...(agent === undefined ? {} : { agent }),
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', nothing)
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, body: parsed(text) })
        })
      },
    )
    call.setTimeout(timeoutMs, () => call.destroy())
    call.on('error', nothing)
    call.on('close', nothing)
    call.end(payload)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Processes with these words in their command line: a chain names the data directory that it belongs to. */
export function processesOf(words: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      if (!Number.isInteger(pid) || pid === process.pid) return false
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(words)
      } catch {
        return false
      }
    })
}

/** Asks again and again until it is so. @throws Error where it is not within the time */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  withinMs = 30_000,
): Promise<T> {
  const end = Date.now() + withinMs
  for (;;) {
    const found = await ask()
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error(`Not within ${withinMs / 1000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
