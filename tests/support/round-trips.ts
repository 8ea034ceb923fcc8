import { connect, createServer, type Socket } from 'node:net'

export interface RoundTrips {
  /** Of the proxy. */
  url: string
  /** How often its clients had to wait for the server since the last call. */
  count(): number
  /** Ends every connection as soon as the next commit's answer would pass, so that it is never heard. */
  loseNextAnswer(): void
  close(): Promise<void>
}

const readyForQuery = 'Z'.charCodeAt(0)
const sync = 'S'.charCodeAt(0)
const simpleQuery = 'Q'.charCodeAt(0)

/** The types of whole messages, in both directions: a letter, and a length that includes itself. */
class Messages {
  #rest = Buffer.alloc(0)
  #isFirst: boolean
  /** @param isFirst the client's first message has no letter */
  constructor(isFirst: boolean) {
    this.#isFirst = isFirst
  }
  /** @returns how many of these messages ended in this piece */
  count(piece: Buffer, of: readonly number[]): number {
    this.#rest = Buffer.concat([this.#rest, piece])
    let found = 0
    for (;;) {
      const head = this.#isFirst ? 0 : 1
      if (this.#rest.length < head + 4) return found
      const end = head + this.#rest.readInt32BE(head)
      if (this.#rest.length < end) return found
      if (this.#isFirst || of.includes(this.#rest[0] ?? 0)) found += 1
      this.#isFirst = false
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/**
 * A proxy before a server that lets answers pass only once nothing else is being asked: questions that go out together
 * are one round trip, on however many connections, and one that waits for an answer is another.
 */
export async function countRoundTrips(server: string): Promise<RoundTrips> {
  const { hostname, port } = new URL(server)
  const held: (() => void)[] = []
  const sockets = new Set<Socket>()
  let open = 0
  let trips = 0
  let isLosing = false
  const asked = (questions: number) => {
    if (questions > 0 && open === 0) trips += 1
    open += questions
  }
  const answered = (answers: number) => {
    open -= answers
    if (open > 0) return
    if (isLosing && answers > 0) {
      isLosing = false
      for (const socket of sockets) socket.destroy()
    }
    for (const pass of held.splice(0)) pass()
  }
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const [questions, answers] = [new Messages(true), new Messages(false)]
    let own = 0
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
        const lost = own
        own = 0
        answered(lost)
      })
    }
    client.on('data', (piece) => {
      const found = questions.count(piece, [sync, simpleQuery])
      own += found
      asked(found)
      upstream.write(piece)
    })
    upstream.on('data', (piece) => {
      const found = answers.count(piece, [readyForQuery])
      own -= found
      held.push(() => client.write(piece))
      answered(found)
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  const url = new URL(server)
  if (address !== null && typeof address === 'object') url.port = String(address.port)
  return {
    url: url.href,
    count: () => {
      const counted = trips
      trips = 0
      return counted
    },
    loseNextAnswer: () => {
      isLosing = true
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
