import { createHmac } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  id: string
  type: string
  timestamp: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of a body is what it asserts
  data: any
  text: string
  path: string
  headers: IncomingHttpHeaders
}

type Answer = (received: Received, response: ServerResponse) => void

/** A receiver of webhooks on loopback. Answers 204 unless told otherwise. */
export async function openReceiver(answer: Answer = (_received, response) => response.writeHead(204).end()) {
  const arrivals = new EventEmitter()
  const received: Received[] = []
  const state = { answer }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const one = { ...JSON.parse(text), id: String(request.headers['webhook-id']), text }
    received.push({ ...one, path: request.url ?? '', headers: request.headers })
    const last = received.at(-1)
    if (last) state.answer(last, response)
    arrivals.emit('one')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/in`,
    received,
    answerWith(next: Answer) {
      state.answer = next
    },
    /** Resolves once a condition holds for what has arrived. */
    async until(isEnough: (received: readonly Received[]) => boolean): Promise<readonly Received[]> {
      while (!isEnough(received)) await once(arrivals, 'one')
      return received
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

export type Receiver = Awaited<ReturnType<typeof openReceiver>>

/** As the convention says, written without our own code. @returns how many of the signatures are by the secret */
export function signaturesBy(secret: string, { headers, text }: Received): number {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  return String(headers['webhook-signature'])
    .split(' ')
    .filter((one) => one === expected).length
}
