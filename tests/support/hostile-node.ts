import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'

export interface Call {
  id: number
  method: string
  params: unknown[]
}

/**
 * What a node does in place of an answer: `silence`, or `half` of one and silence then, or a `result` of its own, or an
 * `error`, or any `text` as the body.
 */
export type Misbehaviour =
  | 'silence'
  | 'half'
  | { result: unknown }
  | { error: string }
  | { text: string; status?: number }

/** A node with faults, in front of one without. */
export interface HostileNode {
  url: string
  /** Decides about each call; undefined lets it through. */
  misbehave: ((call: Call) => Misbehaviour | undefined) | undefined
  close(): Promise<void>
}

/** @param upstream the URL of the node that answers where this one does not misbehave */
export async function openHostileNode(upstream: string): Promise<HostileNode> {
  const handle = async (text: string, response: ServerResponse) => {
    response.setHeader('content-type', 'application/json')
    const parsed: Call | Call[] = JSON.parse(text)
    const calls = [parsed].flat().map((call) => ({ ...call, params: call.params ?? [] }))
    const odd = calls.map((call) => node.misbehave?.(call))
    const [first] = odd.filter((one) => one !== undefined)
    if (first === 'silence') return
    if (first === 'half') {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"jsonrpc":"2.0","id":1,"res')
      return
    }
    if (first !== undefined && 'text' in first) {
      response.writeHead(first.status ?? 200).end(first.text)
      return
    }
    const answer = await fetch(upstream, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json' },
    })
    if (first === undefined) {
      response.end(await answer.text())
      return
    }
    const honest = z.array(z.looseObject({ id: z.unknown() })).parse([await answer.json()].flat())
    const answers = calls.map((call, index) => {
      const own = odd[index]
      if (own === undefined || typeof own === 'string' || 'text' in own)
        return honest.find(({ id }) => id === call.id) ?? null
      const said = 'error' in own ? { error: { code: -32000, message: own.error } } : own
      return { jsonrpc: '2.0', id: call.id, ...said }
    })
    response.end(JSON.stringify(Array.isArray(parsed) ? answers : answers[0]))
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      handle(Buffer.concat(chunks).toString(), response).catch(() => response.destroy())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: HostileNode = {
    url: `http://127.0.0.1:${port}`,
    misbehave: undefined,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return node
}
