import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Stands in for OpenSea's API: takes what the real one takes, and nothing besides. */
export interface OpenSeaStandIn {
  readonly url: string
  /** The tokens it was asked to refresh, as `slug/contract/id`. */
  readonly refreshed: string[]
  /** How often it was asked anything, refused or not. */
  asked(): number
  /** How the next requests are answered, one after another, whatever they ask; then it takes them again. */
  answer(...answers: { status: number; headers?: Record<string, string>; hang?: boolean }[]): void
  close(): Promise<void>
}

const route = /^\/api\/v2\/chain\/([a-z0-9_]+)\/contract\/(0x[0-9a-fA-F]{40})\/nfts\/(\d{1,78})\/refresh$/
const slugs = ['ethereum', 'matic', 'base', 'arbitrum', 'optimism', 'sepolia', 'base_sepolia', 'avalanche']

export async function openOpenSea(apiKey: string): Promise<OpenSeaStandIn> {
  const refreshed: string[] = []
  const scripted: Parameters<OpenSeaStandIn['answer']> = []
  let count = 0

  const say = (response: ServerResponse, status: number, errors: string[], headers = {}) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(errors.length > 0 ? JSON.stringify({ errors }) : '')

  async function take(request: IncomingMessage, response: ServerResponse) {
    count++
    let size = 0
    for await (const chunk of request) size += (chunk as Buffer).length
    const next = scripted.shift()
    if (next?.hang) return response.flushHeaders()
    if (next) return say(response, next.status, next.status < 300 ? [] : ['scripted'], next.headers)
    const [, slug = '', contract, id] = route.exec(request.url ?? '') ?? []
    if (contract === undefined) return say(response, 404, ['Not Found'])
    if (request.method !== 'POST') return say(response, 405, ['Method Not Allowed'], { allow: 'POST' })
    if (request.headers['x-api-key'] !== apiKey) return say(response, 401, ['Invalid API key'])
    if (size > 0) return say(response, 400, ['This endpoint takes no body'])
    if (!slugs.includes(slug)) return say(response, 400, [`${slug} is not a valid chain`])
    refreshed.push(`${slug}/${contract}/${id}`)
    return say(response, 200, [])
  }

  const server = createServer((request, response) => void take(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refreshed,
    asked: () => count,
    answer: (...answers) => void scripted.push(...answers),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
