import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'

export interface Call {
  id: number
  method: string
  params: unknown[]
}

export interface Answer {
  result?: unknown
  error?: { code: number; message: string } | undefined
}

/**
 * What a node does in place of an answer: `silence`, or `half` of one and silence then, or a `result` of its own, or an
 * `error`, or any `text` as the body of all. `change` changes the honest answer, and `params` what the honest node is asked;
 * the others never ask it.
 */
export type Misbehaviour =
  | 'silence'
  | 'half'
  | { result: unknown }
  | { error: string; code?: number }
  | { text: string; status?: number; headers?: Record<string, string> }
  | { change: (honest: Answer) => Answer }
  | { params: unknown[] }

export interface Place {
  /** How many calls came together; 0: it came alone, outside of an array. */
  batch: number
  /** From 0. */
  index: number
}

type Decide = (call: Call, at: Place) => Misbehaviour | undefined | Promise<Misbehaviour | undefined>

/** A node with faults, in front of one without. */
export interface HostileNode {
  url: string
  /** Decides about each call, in the order of a batch; undefined lets it through. */
  misbehave: Decide | undefined
  close(): Promise<void>
}

const honestAnswer = z.looseObject({ id: z.unknown(), result: z.unknown() })

/** @param upstream the URL of the node that answers where this one does not misbehave */
export async function openHostileNode(upstream: string): Promise<HostileNode> {
  const forward = async (body: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(upstream, { method: 'POST', body: JSON.stringify(body), headers })
    return answer.json()
  }

  const handle = async (text: string, response: ServerResponse) => {
    response.setHeader('content-type', 'application/json')
    const parsed: Call | Call[] = JSON.parse(text)
    const calls = [parsed].flat().map((call) => ({ ...call, params: call.params ?? [] }))
    const batch = Array.isArray(parsed) ? parsed.length : 0
    const odd: (Misbehaviour | undefined)[] = []
    for (const [index, call] of calls.entries()) odd.push(await node.misbehave?.(call, { batch, index }))
    const whole = odd.find(isWhole)
    if (whole === 'silence') return
    if (whole === 'half') {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"jsonrpc":"2.0","id":1,"res')
      return
    }
    if (whole !== undefined) {
      response.writeHead(whole.status ?? 200, whole.headers).end(whole.text)
      return
    }
    if (odd.every((one) => one === undefined)) {
      response.end(JSON.stringify(await forward(parsed)))
      return
    }
    const asked = calls.flatMap((call, index) => {
      const own = odd[index]
      if (!isAsked(own)) return []
      return [own !== undefined && 'params' in own ? { ...call, params: own.params } : call]
    })
    const honest = asked.length === 0 ? [] : z.array(honestAnswer).parse(await forward(asked))
    const answers = calls.map((call, index) => {
      const own = odd[index]
      if (isAsked(own)) {
        const answer = honest.find(({ id }) => id === call.id) ?? { id: call.id, result: null }
        return own !== undefined && 'change' in own ? { ...answer, ...own.change(answer) } : answer
      }
      if (isWhole(own)) return null
      const said = 'error' in own ? { error: { code: own.code ?? -32000, message: own.error } } : own
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

type Whole = Extract<Misbehaviour, string | { text: unknown }>

/** It is the answer to a whole request. */
const isWhole = (own: Misbehaviour | undefined): own is Whole =>
  typeof own === 'string' || (own !== undefined && 'text' in own)

type Asked = Extract<Misbehaviour, { change: unknown } | { params: unknown }> | undefined

const isAsked = (own: Misbehaviour | undefined): own is Asked =>
  own === undefined || (typeof own === 'object' && ('change' in own || 'params' in own))
