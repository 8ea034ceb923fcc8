import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/**
 * Stands before a daemon for the rest of a test, until it has passed on a request that is the last one.
 * @param isLast of `POST /batches/b_1/rows?from=0` @returns the requests that it passed on
 */
export async function proxyUntil(daemon: string, isLast: (request: string) => boolean) {
  const seen: string[] = []
  let isGone = false
  const proxy = createServer(async (request, response) => {
    if (isGone) return request.socket.destroy()
    const { method = '', url = '' } = request
    seen.push(`${method} ${url}`)
    const body = await buffer(request)
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      /^(x-svc-|content-type$|authorization$|tapchip-)/.test(name) ? [[name, String(value)]] : [],
    )
    const answer = await fetch(daemon + url, { method, headers, ...(method === 'GET' ? {} : { body }) })
    const text = await answer.text()
    isGone = isLast(`${method} ${url}`)
    const type = answer.headers.get('content-type') ?? ''
    response.writeHead(answer.status, { 'content-type': type }).end(text)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, seen }
}
