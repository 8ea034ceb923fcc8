import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** False once the credential of a stream was revoked, or has expired. */
export function isStillAllowed({ reauthenticate }: FastifyRequest): boolean {
  try {
    reauthenticate?.()
    return true
  } catch {
    return false
  }
}

interface Live<T> {
  /** @param end called when there are no more lines */
  follow(onEvent: (event: T) => void, end: () => void): () => void
  toLine(event: T): object
  /** Checked before each line, including keep-alives, so that lost permissions take effect. */
  mayGoOn(): boolean
}

const keepAliveEvery = 15_000
// A reader that is this far behind is disconnected: the daemon does not keep events for it.
const maxBufferedBytes = 1024 * 1024
const closeGrace = 1000

interface Format {
  type: string
  keepAlive: string
  text(line: object): string
}

/** By line, since several readers are told the same. */
const written = new WeakMap<object, string>()

function jsonLine(line: object): string {
  const text = written.get(line) ?? `${JSON.stringify(line)}\n`
  written.set(line, text)
  return text
}

export const jsonLines: Format = { type: 'application/x-ndjson', keepAlive: '\n', text: jsonLine }

/** Server-sent events, all of one name. A comment keeps the connection. */
export const serverSentEvents = (name: string): Format => ({
  type: 'text/event-stream',
  keepAlive: ': still here\n\n',
  text: (line) => `event: ${name}\ndata: ${JSON.stringify(line)}\n\n`,
})

interface Open {
  end(): void
  cut(): void
}

/** Streams events as they happen, with something to keep the connection alive while nothing does. */
export class LiveLines {
  readonly #open = new Set<Open>()
  readonly #keepAliveMs: number

  /** Ends the streams before the application closes, which would otherwise wait for them forever. */
  constructor(app: FastifyInstance, keepAliveMs = keepAliveEvery) {
    this.#keepAliveMs = keepAliveMs
    app.addHook('preClose', async () => {
      const open = [...this.#open]
      for (const { end } of open) end()
      // A client that does not even read the end is disconnected.
      setTimeout(() => {
        for (const { cut } of open) cut()
      }, closeGrace).unref()
    })
  }

  send<T>(reply: FastifyReply, live: Live<T>, format = jsonLines): FastifyReply {
    const stream = liveLines(live, format, this.#keepAliveMs)
    const open = { end: () => stream.end(), cut: () => reply.raw.destroy() }
    this.#open.add(open)
    reply.raw.once('close', () => {
      stream.end()
      this.#open.delete(open)
    })
    // Keep-alive would delay a stopping daemon.
    return reply.header('connection', 'close').type(format.type).send(stream.lines)
  }
}

function liveLines<T>(live: Live<T>, format: Format, keepAliveMs: number): { lines: Readable; end(): void } {
  const lines = new Readable({ read: () => undefined })
  let isClosed = false
  const push = (text: string) => {
    if (isClosed) return
    if (live.mayGoOn() && lines.readableLength <= maxBufferedBytes) lines.push(text)
    else end()
  }
  let unfollow: () => void = () => undefined
  const keepAlive = setInterval(() => push(format.keepAlive), keepAliveMs)
  const end = () => {
    if (isClosed) return
    isClosed = true
    clearInterval(keepAlive)
    unfollow()
    lines.push(null)
  }
  lines.once('close', end)
  unfollow = live.follow((event) => push(format.text(live.toLine(event))), end)
  if (isClosed) unfollow()
  // Sends the headers at once, so that the reader knows it misses nothing from here on.
  push(format.keepAlive)
  return { lines, end }
}
