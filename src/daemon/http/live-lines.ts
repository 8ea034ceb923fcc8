import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'

interface Live<T> {
  follow(tell: (event: T) => void): () => void
  toLine(event: T): unknown
  /** Checked before each line, including keep-alives, so that lost permissions take effect. */
  mayGoOn(): boolean
}

const keepAliveEvery = 15_000
// A reader that is this far behind is disconnected: the daemon does not keep events for it.
const bytesKept = 1024 * 1024
const closeGrace = 1000

interface Open {
  end(): void
  cut(): void
}

/** Streams JSON lines as events happen; an empty line is a keep-alive. */
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

  send<T>(reply: FastifyReply, live: Live<T>): FastifyReply {
    const stream = liveLines(live, this.#keepAliveMs)
    const open = { end: () => stream.end(), cut: () => reply.raw.destroy() }
    this.#open.add(open)
    reply.raw.once('close', () => {
      stream.end()
      this.#open.delete(open)
    })
    // Keeping the connection open afterwards would hold up a stopping daemon.
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
  // Sends the headers at once, so that the reader knows it misses nothing from here on.
  push('\n')
  return { lines, end }
}
