import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Something to follow, for as long as somebody reads. */
export interface Live<T> {
  /** @returns a function that ends the following */
  follow(tell: (event: T) => void): () => void
  toLine(event: T): unknown
  /** Asked before each line, keep-alives included: whoever may not read any more gets no more. */
  mayGoOn(): boolean
}

const keepAliveEvery = 15_000
// A reader that is this far behind is cut off: the daemon does not keep events for those who do not read.
const bytesKept = 1024 * 1024
const closeGrace = 1000

interface Open {
  end(): void
  cut(): void
}

/** Streams of JSON lines as things happen; an empty line says that the connection still stands. */
export class LiveLines {
  readonly #open = new Set<Open>()
  readonly #keepAliveMs: number

  /** Ends the streams before the application closes, which would wait for them for ever. */
  constructor(app: FastifyInstance, keepAliveMs = keepAliveEvery) {
    this.#keepAliveMs = keepAliveMs
    app.addHook('preClose', async () => {
      const open = [...this.#open]
      for (const { end } of open) end()
      // Who does not even read the end is not waited for.
      setTimeout(() => {
        for (const { cut } of open) cut()
      }, closeGrace).unref()
    })
  }

  send<T>(reply: FastifyReply, live: Live<T>): FastifyReply {
    const stream = liveLines(live, this.#keepAliveMs)
    const open = { end: () => stream.end(), cut: () => reply.raw.destroy() }
    this.#open.add(open)
    reply.raw.once('close', () => {
      stream.end()
      this.#open.delete(open)
    })
    // The connection has nothing to wait for afterwards, and would hold up a daemon that stops.
    return reply.header('connection', 'close').type('application/x-ndjson').send(stream.lines)
  }
}

function liveLines<T>(live: Live<T>, keepAliveMs: number): { lines: Readable; end(): void } {
  const lines = new Readable({ read: () => undefined })
  let isOver = false
  const push = (text: string) => {
    if (isOver) return
    if (live.mayGoOn() && lines.readableLength + text.length <= bytesKept) lines.push(text)
    else end()
  }
  const unfollow = live.follow((event) => push(`${JSON.stringify(live.toLine(event))}\n`))
  const keepAlive = setInterval(() => push('\n'), keepAliveMs)
  const end = () => {
    if (isOver) return
    isOver = true
    clearInterval(keepAlive)
    unfollow()
    lines.push(null)
  }
  lines.once('close', end)
  // At once: the headers go out, and the reader knows that nothing is missed from here on.
  push('\n')
  return { lines, end }
}
