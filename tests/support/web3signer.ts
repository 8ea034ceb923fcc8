import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Hex, isHex, keccak256 } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import * as z from 'zod'

/** What it does instead of its job. */
export type SignerFault =
  | 'hangs'
  | 'is cut off'
  | 'forbids'
  | 'fails'
  | 'is a web page'
  | 'is endless'
  | 'says nothing'
  | 'signs with another key'
  | 'signs something else'
  | 'signs above half of the order'
  | 'signs with the other parity'
  | 'signs zeros'
  | 'sends on to another host'
  | 'drips'

const keyOf = (secret: Hex): Hex => `0x${privateKeyToAccount(secret).publicKey.slice(-128).toLowerCase()}`
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const stranger: Hex = `0x${'5e'.repeat(32)}`

/** Web3signer as eth1, over HTTP on loopback. tests/chain/web3signer-standin.test.ts holds it to its document. */
export async function openWeb3signer(secrets: readonly Hex[], port = 0) {
  const held: { secrets: readonly Hex[] } = { secrets }
  let fault: SignerFault | undefined
  let faultsLeft = Number.POSITIVE_INFINITY
  const asked: string[] = []
  const hanging = new Set<ServerResponse>()

  const signature = async (secret: Hex, data: Hex): Promise<string> => {
    const privateKey = fault === 'signs with another key' ? stranger : secret
    const hash = keccak256(fault === 'signs something else' ? `${data}00` : data)
    const { r, s, v } = await sign({ hash, privateKey })
    if (fault === 'signs zeros') return `0x${'0'.repeat(128)}1b`
    if (fault === 'signs with the other parity') return `${r}${s.slice(2)}${(Number(v) ^ 7).toString(16)}`
    const isHigh = fault === 'signs above half of the order'
    const shown = isHigh ? `0x${(order - BigInt(s)).toString(16).padStart(64, '0')}` : s
    return `${r}${shown.slice(2)}${(Number(v) ^ (isHigh ? 7 : 0)).toString(16)}`
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url = '' } = request
    asked.push(`${method} ${url}`)
    if (faultsLeft-- <= 0) fault = undefined
    let body = ''
    for await (const chunk of request) body += chunk
    const end = (status: number, type: string, text: string) => {
      response.writeHead(status, { 'content-type': type }).end(text)
    }
    if (fault === 'hangs') return void hanging.add(response)
    if (fault === 'sends on to another host')
      return void response.writeHead(307, { location: `http://127.0.0.2:${address.port}${url}` }).end()
    if (fault === 'drips') {
      const dripping = setInterval(() => response.write(' '), 100)
      return void response.once('close', () => clearInterval(dripping))
    }
    if (fault === 'is cut off') return void request.socket.destroy()
    if (fault === 'forbids') return end(403, 'text/plain', '')
    if (fault === 'fails') return end(500, 'text/plain', 'Internal Server Error')
    if (fault === 'is a web page') return end(200, 'text/html', '<html><body>Sign in</body></html>')
    if (fault === 'is endless') return end(200, 'text/plain', '0'.repeat(4 * 1024 * 1024))
    if (fault === 'says nothing') return end(200, 'text/plain; charset=utf-8', '')
    if (method === 'GET' && url === '/upcheck') return end(200, 'text/plain; charset=utf-8', 'OK')
    if (method === 'GET' && url === '/api/v1/eth1/publicKeys')
      return end(200, 'application/json; charset=UTF-8', JSON.stringify(held.secrets.map(keyOf)))
    const [, identifier] = /^\/api\/v1\/eth1\/sign\/(?:0x)?([0-9a-f]+)$/i.exec(url) ?? []
    if (method !== 'POST' || identifier === undefined) return end(404, 'text/plain', 'Resource not found')
    const data = dataIn(body)
    if (data === undefined) return end(400, 'text/plain', 'Bad Request')
    const secret = held.secrets.find((one) => keyOf(one) === `0x${identifier.toLowerCase()}`)
    if (secret === undefined) return end(404, 'text/plain', 'Resource not found')
    end(200, 'text/plain; charset=utf-8', await signature(secret, data))
  }
  const server = createServer((request, response) => void answer(request, response).catch(() => undefined))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const url = `http://127.0.0.1:${address.port}`
  return {
    url,
    /** Host and port. */
    host: url.slice('http://'.length),
    /** Method and path of each request. */
    asked,
    /** The fault ends by itself after so many requests. */
    failFor(next: SignerFault, requests: number) {
      fault = next
      faultsLeft = requests
    },
    set fault(next: SignerFault | undefined) {
      fault = next
      faultsLeft = Number.POSITIVE_INFINITY
      for (const response of hanging) response.destroy()
      hanging.clear()
    },
    /** The keys that it has, in the order of its list. */
    get secrets() {
      return held.secrets
    },
    set secrets(next: readonly Hex[]) {
      held.secrets = next
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const dataIn = (body: string): Hex | undefined => {
  try {
    const { data } = z.object({ data: z.string().min(2) }).parse(JSON.parse(body))
    return isHex(data) && data.length % 2 === 0 ? data : undefined
  } catch {
    return undefined
  }
}

export type Web3signerStandIn = Awaited<ReturnType<typeof openWeb3signer>>
