import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isJsonObject, parseObject } from '../../src/values/json.ts'
import { anvilOf, hasEnded, runs } from '../support/anvil-of.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { onTerminal, type Running, spawnCli } from '../support/cli-process.ts'
import { undocumented } from '../support/documented-json.ts'

let here: CliHome
let started: Running[]
beforeEach(() => {
  started = []
  here = cliHome({ TAPCHIP_DEV_RPC_PORT: '0' })
})
afterEach(() => {
  for (const { child } of started) child.kill('SIGKILL')
  here.remove()
})

const env = () => ({ ...here.env, HOME: here.home, TMPDIR: here.home })
const dataDirs = () => readdirSync(here.home).filter((name) => /^tapchip-/.test(name))

/** Once it has printed a tap. */
const dev = async (more: Record<string, string> = {}, ...args: string[]) => {
  const running = spawnCli(['dev', '--port', '0', '--json', ...args], { ...env(), ...more }, here.home)
  started.push(running)
  await running.until((stdout) => stdout.split('\n').length > 2)
  const [ready = {}, tap = {}] = running.stdout().split('\n').map(parseObject)
  return { running, ready, tap, anvil: anvilOf(join(here.home, dataDirs()[0] ?? '')) }
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('an app has all that it needs: it follows a tap, queries the ref twice, reads the chain, and Ctrl-C leaves nothing', async () => {
  const port = String(await freePort())
  const got: { headers: IncomingHttpHeaders; body: string }[] = []
  let status = 500
  const app = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    got.push({ headers: request.headers, body })
    response.writeHead(status).end()
  })
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  const { running, ready, tap, anvil } = await dev(
    { TAPCHIP_WIRE_PREFIX: 'acme', TAPCHIP_DEV_RPC_PORT: port },
    ...['--redirect-url', 'http://localhost:3000/tap'],
    ...['--forward-to', `http://127.0.0.1:${(app.address() as AddressInfo).port}/webhooks`],
  )
  expect(undocumented(['dev', '--json'], running.stdout())).toBe(undefined)
  const { url, apiKey, apiKeyHeader, adminToken, chains } = ready
  expect(apiKeyHeader).toBe('x-acme-api-key')
  const get = async (path: string, headers: Record<string, string>) =>
    (await fetch(`${url}${path}`, { headers })).json()
  expect(await get('/team', { [String(apiKeyHeader)]: String(apiKey) })).toMatchObject({ name: ready.team })
  expect(await get('/admin/status', { authorization: `Bearer ${adminToken}` })).toMatchObject({ counts: {} })

  const redirected = await fetch(String(tap.url), { redirect: 'manual' })
  const location = new URL(redirected.headers.get('location') ?? '')
  expect(`${location.origin}${location.pathname}`).toBe('http://localhost:3000/tap')
  const ref = location.searchParams.get('acmeRef')
  const first = await get(`/refs/${ref}`, {})
  expect(first).toMatchObject({ isValidRef: true, linkedToken: { otp: expect.any(String) } })
  expect(await get(`/refs/${ref}`, {})).toEqual(first)

  const rpc = isJsonObject(chains) ? String(chains[31337]) : ''
  expect(new URL(rpc).port).toBe(port)
  const answer = await fetch(rpc, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'http://localhost:5173' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' }),
  })
  expect(answer.headers.get('access-control-allow-origin')).toBe('http://localhost:5173')

  // The daemon learns what the app has answered; the app gets what the daemon has signed.
  const authorization = `Bearer ${adminToken}`
  const message = async () =>
    (await fetch(`${url}/admin/webhooks/1/test`, { method: 'POST', headers: { authorization } })).json()
  expect(await message()).toMatchObject({ state: 'failed', statusCode: 500 })
  status = 202
  expect(await message()).toMatchObject({ state: 'delivered', statusCode: 202 })
  const { headers, body } = got.at(-1) ?? { headers: {}, body: '' }
  const { 'webhook-id': id, 'webhook-timestamp': seconds } = headers
  const key = Buffer.from(String(ready.webhookSecret).replace('whsec_', ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  expect(headers['webhook-signature']).toBe(`v1,${signature}`)
  await running.until((stdout) => stdout.includes('"status":202'))
  const line = parseObject(running.stdout().trimEnd().split('\n').at(-1) ?? '')
  expect(line).toMatchObject({ event: 'webhook', id, type: 'webhook.test', status: 202, error: null })
  expect(undocumented(['dev', '--json'], running.stdout())).toBe(undefined)
  app.close()
  app.closeAllConnections()

  running.child.kill('SIGINT')
  expect([await running.ended, dataDirs(), runs(anvil)]).toEqual([0, [], false])
  await expect(fetch(String(url))).rejects.toThrow()
})

test('nothing stays either if it is killed, or its daemon', async () => {
  const killed = await dev()
  killed.running.child.kill('SIGKILL')
  await hasEnded(killed.anvil)
  await expect.poll(dataDirs).toEqual([])

  const { running, ready, anvil } = await dev()
  const status = await fetch(`${ready.url}/admin/status`, {
    headers: { authorization: `Bearer ${ready.adminToken}` },
  })
  process.kill(Number(parseObject(await status.text())?.pid), 'SIGKILL')
  expect([await running.ended, running.stderr()]).toEqual([1, expect.stringMatching(/ended by itself\./)])
  await hasEnded(anvil)
  expect(dataDirs()).toEqual([])
})

test('on a terminal, Enter is the next tap, a label that of another chip, and Ctrl-D the end', async () => {
  const { code, screen } = await onTerminal(
    'dev --port 0',
    [
      [/Tap of FJ-001.*[\s\S]*Ctrl-C ends it/, '\n'],
      [/(Tap of FJ-001[\s\S]*){2}/, 'FJ-003\n'],
      [/Tap of FJ-003/, 'FJ-999\n'],
      [/No chip has the label or UID "FJ-999"[\s\S]*There are: FJ-001/, '\u0004'],
    ],
    env(),
  )
  expect([code, dataDirs()]).toEqual([0, []])
  expect(screen).toMatch(/^Base URL +http:\/\/127\.0\.0\.1:\d+\s+API key +x-svc-api-key: svc_demo/)
  const urls = screen.match(/http:\S+\/t\?\S+/g) ?? []
  expect(new Set(urls).size).toBe(3)
})
