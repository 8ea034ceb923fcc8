import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseObject } from '../../../values/json.ts'
import type { Client } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'

const maxBytes = 1024 * 1024
/** Shorter than the daemon waits for an answer. */
const forwardMs = 9000

interface Receiver {
  /** It signs what arrives, and what is passed on. */
  readonly secret: string
  close(): Promise<void>
}

/**
 * Registers a webhook of a team, prints a line for each message, and passes it on as it is. The daemon is answered as the
 * app has answered, so that it tries again what failed there.
 * @param forwardTo undefined: messages are only printed
 */
export async function receiveWebhooks(
  ctx: CliContext,
  { client, team, forwardTo }: { client: Client; team: string; forwardTo: string | undefined },
): Promise<Receiver> {
  // Pages that try the ports of this machine do not find it.
  const path = `/${randomBytes(16).toString('hex')}`
  const server = createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== path) return void response.writeHead(404).end()
    answer(ctx, forwardTo, request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
    const { secret } = await client.call('POST /admin/webhooks', { body: { url, team } })
    return { secret, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function answer(
  ctx: CliContext,
  forwardTo: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > maxBytes) return void request.destroy()
    chunks.push(chunk as Buffer)
  }
  const body = Buffer.concat(chunks)
  const passed = forwardTo === undefined ? undefined : await forward(forwardTo, request, body)
  const { type, data, timestamp } = parseObject(body.toString('utf8')) ?? {}
  const message = { id: String(request.headers['webhook-id']), type, timestamp, data }
  const outcome = { status: passed?.status ?? null, error: passed?.error ?? null }
  await ctx.io.line({ event: 'webhook', ...message, ...outcome }, () => {
    const became = passed === undefined ? '' : ` → ${outcome.error ?? outcome.status}`
    return `Webhook ${String(type)} ${JSON.stringify(data)}${became}`
  })
  response.writeHead(passed === undefined ? 204 : (passed.status ?? 502)).end()
}

interface ForwardResult {
  readonly status?: number
  readonly error?: string
}

const kept = ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

async function forward(to: string, { headers }: IncomingMessage, body: Buffer): Promise<ForwardResult> {
  try {
    const { status, body: answered } = await fetch(to, {
      method: 'POST',
      headers: kept.flatMap((name): [string, string][] => [[name, String(headers[name])]]),
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(forwardMs),
    })
    await answered?.cancel()
    return { status }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return {
      error: `${new URL(to).origin} did not answer: ${cause instanceof Error ? cause.message : cause}`,
    }
  }
}
