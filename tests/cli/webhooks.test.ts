import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import { seed } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed, env: { TAPCHIP_WEBHOOKS_PRIVATE: 'on' } }, (home) => {
  here = home
})

interface Message {
  headers: IncomingHttpHeaders
  body: string
}
let receiver: Server
let url: string
let status = 204
const received: Message[] = []
beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    received.push({ headers: request.headers, body })
    response.writeHead(status).end()
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in?key=hunter2`
})
afterAll(() => receiver.close())

/** The one for node:crypto in docs/webhooks.md. */
const documented = async (): Promise<(body: string, headers: object, secret: string) => { type: string }> => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/webhooks.md'), 'utf8')
  const [, code = ''] = /```js\n(import \{ createHmac[\s\S]*?)```/.exec(text) ?? []
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).verify
}

test('a webhook is registered, tested, rolled and removed; what arrives verifies as the document says', async () => {
  const verify = await documented()
  const dry = await here.run('webhooks', 'create', '--url', url, '--dry-run')
  expect([dry.code, await here.json('webhooks', 'list')]).toEqual([0, []])
  const created = (
    await here.run('webhooks', 'create', '--url', url, '--events', 'tap.valid', '--json')
  ).json()
  expect(created).toMatchObject({
    id: expect.any(Number),
    url,
    events: ['tap.valid'],
    secret: expect.stringMatching(/^whsec_/),
  })
  // With --to, --url is the daemon as everywhere.
  const elsewhere = ['--to', url, '--url', 'http://127.0.0.1:1']
  ends(await here.run('webhooks', 'create', ...elsewhere), 5, '127.0.0.1:1')
  const { id, secret: old } = created as { id: number; secret: string }
  // On PostgreSQL the dry run has used up a number.
  const hook = String(id)
  const listed = await here.run('webhooks', 'list')
  expect(listed.stdout).toMatch(/tap\.valid\s+enabled/)
  expect(listed.stdout).not.toContain('whsec_')

  expect(await here.json('webhooks', 'test', hook)).toMatchObject({ state: 'delivered', statusCode: 204 })
  const first = received.at(-1) as Message
  expect(verify(first.body, first.headers, old)).toMatchObject({ type: 'webhook.test' })
  expect(() => verify(`${first.body} `, first.headers, old)).toThrow('wrong signature')
  const late = { ...first.headers, 'webhook-timestamp': '1700000000' }
  expect(() => verify(first.body, late, old)).toThrow('too old')

  const rolled = await here.run('webhooks', 'roll', hook)
  const [, secret = ''] = /Secret: +(whsec_\S+)/.exec(rolled.stdout) ?? []
  expect(rolled.stderr).toMatch(/not shown again[\s\S]*signatures of both secrets/)
  expect((await here.run('webhooks', 'test', hook)).code).toBe(0)
  const both = received.at(-1) as Message
  for (const one of [old, secret]) expect(verify(both.body, both.headers, one).type).toBe('webhook.test')
  expect(secret).not.toBe(old)

  expect(await here.json('webhooks', 'edit', hook, '--disable', '--events', 'badge.minted')).toMatchObject({
    events: ['badge.minted'],
    disabledReason: 'disabled by an operator',
  })
  ends(await here.run('webhooks', 'test', hook), 1, 'is disabled')
  expect(await here.json('webhooks', 'edit', hook, '--enable')).toMatchObject({ disabledAt: null })
  ends(await here.run('webhooks', 'remove', hook), 2, '--yes')
  expect(await here.json('webhooks', 'remove', hook, '--yes')).toEqual({ success: true })
  ends(await here.run('webhooks', 'remove', hook, '--yes'), 1, 'webhook')
})

test('one that did not arrive is exit code 1, is listed with its reason, and is sent again under its id', async () => {
  const { id } = (await here.json('webhooks', 'create', '--url', url)) as { id: number }
  status = 500
  const failed = await here.run('webhooks', 'test', String(id))
  expect([failed.code, failed.stdout]).toEqual([
    1,
    expect.stringMatching(/State: +failed[\s\S]*answered 500/),
  ])
  status = 204
  const [delivery] = (await here.json(
    'webhooks',
    'deliveries',
    '--webhook',
    String(id),
    '--state',
    'failed',
  )) as { id: number }[]
  const again = await here.json('webhooks', 'redeliver', String(delivery?.id))
  expect(again).toMatchObject({ id: delivery?.id, state: 'delivered' })
  expect(received.at(-1)?.headers['webhook-id']).toBe(received.at(-2)?.headers['webhook-id'])
  expect((await here.run('webhooks', 'deliveries')).stdout).toMatch(/webhook\.test\s+delivered\s+\d\s+204/)
})

test('what cannot be meant is refused, and nothing is changed', async () => {
  const before = await here.json('webhooks', 'list')
  const cases: [string[], number, string][] = [
    [['create', '--url', url, '--events', 'tap.valid,taps'], 2, '--events must be one of tap.valid,'],
    [['create'], 2, '--url is missing'],
    [['create', '--url', 'ftp://x.example'], 2, 'url'],
    [['edit', '1'], 2, 'nothing to change'],
    [['edit', '1', '--disable', '--enable'], 2, 'contradict'],
    [['roll', 'x', '--yes'], 2, 'The id of a webhook is a number'],
    [['redeliver', '99'], 1, 'delivery'],
    [['deliveries', '--state', 'lost'], 2, '--state must be one of waiting, delivered'],
  ]
  for (const [args, code, words] of cases) ends(await here.run('webhooks', ...args), code, words)
  expect(await here.json('webhooks', 'list')).toEqual(before)
})
