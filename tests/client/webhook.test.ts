import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { verifyWebhook, type WebhookData } from '../../dist/client.js'
import { testType, webhookTypes } from '../../src/values/webhook-types.ts'

const secret = `whsec_${randomBytes(24).toString('base64')}`
const at = new Date('2026-06-01T12:00:00Z')
const id = 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W'
const timestamp = String(at.getTime() / 1000)
const body = JSON.stringify({
  type: 'tap.valid',
  timestamp: at.toISOString(),
  data: { uid: '1', counter: 7 },
})

const sign = (text: string, by = secret, when = timestamp, of = id): string => {
  const key = Buffer.from(by.slice('whsec_'.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${of}.${when}.${text}`).digest('base64')}`
}
const headersWith = (more: Record<string, string> = {}) => ({
  'webhook-id': id,
  'webhook-timestamp': timestamp,
  'webhook-signature': sign(body),
  ...more,
})
const refused = (message: RegExp) =>
  expect.objectContaining({ code: 'webhook_invalid', message: expect.stringMatching(message) })

test('a delivery is read, as text or bytes, with the headers of Node or of fetch', async () => {
  const event = await verifyWebhook(body, headersWith(), secret, { at })
  expect(event).toEqual({ id, ...JSON.parse(body) })
  // The type tells which data there is, of all that the daemon sends.
  const known: readonly (keyof WebhookData)[] = [...webhookTypes, testType]
  expect(known).toContain(event.type)
  expect(event.type === 'tap.valid' && event.data.counter).toBe(7)
  const headers = new Headers(headersWith())
  for (const given of [Buffer.from(body), new TextEncoder().encode(body).buffer])
    expect((await verifyWebhook(given, headers, secret, { at })).id).toBe(id)
  const named = { 'Webhook-Id': id, 'Webhook-Timestamp': timestamp, 'Webhook-Signature': [sign(body)] }
  expect((await verifyWebhook(body, named, secret, { at })).id).toBe(id)
})

test('the convention holds for others too: the sample of its own verifiers', async () => {
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  const sample = verifyWebhook('{"test": 2432232314}', headers, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', {
    at: new Date(1614265330_000),
  })
  expect(await sample).toMatchObject({ test: 2432232314 })
})

test('while a secret is rolled, either of two is enough, on either side', async () => {
  const next = `whsec_${randomBytes(24).toString('base64')}`
  const both = headersWith({ 'webhook-signature': `v1a,AAAA ${sign(body, next)} ${sign(body)}` })
  for (const one of [secret, next, [next, secret]])
    expect((await verifyWebhook(body, both, one, { at })).id).toBe(id)
  expect((await verifyWebhook(body, headersWith(), [next, secret], { at })).id).toBe(id)
})

test('what was changed, is old, or is not signed is refused, with what to look at', async () => {
  const other = `whsec_${randomBytes(24).toString('base64')}`
  const cases: [() => Promise<unknown>, RegExp][] = [
    [() => verifyWebhook(body.replace('7', '8'), headersWith(), secret, { at }), /No signature matches/],
    [() => verifyWebhook(body, headersWith(), other, { at }), /No signature matches/],
    [
      () => verifyWebhook(body, headersWith({ 'webhook-id': 'msg_other' }), secret, { at }),
      /No signature matches/,
    ],
    [
      () => verifyWebhook(body, headersWith({ 'webhook-signature': sign(body).slice(3) }), secret, { at }),
      /No sig/,
    ],
    [
      () => verifyWebhook(body, headersWith({ 'webhook-signature': 'v1,%%%' }), secret, { at }),
      /No signature matches/,
    ],
    [
      () => verifyWebhook(body, headersWith({ 'webhook-signature': 'v1,' }), secret, { at }),
      /No signature matches/,
    ],
    [() => verifyWebhook(body, {}, secret, { at }), /webhook-id is missing/],
    [() => verifyWebhook(body, headersWith({ 'webhook-timestamp': 'soon' }), secret, { at }), /300 seconds/],
    [
      () => verifyWebhook(body, headersWith(), secret, { at: new Date(at.getTime() + 301_000) }),
      /300 seconds/,
    ],
    [
      () => verifyWebhook(body, headersWith(), secret, { at: new Date(at.getTime() - 301_000) }),
      /300 seconds/,
    ],
  ]
  for (const [call, message] of cases) await expect(call()).rejects.toEqual(refused(message))
  const soon = new Date(at.getTime() + 299_000)
  expect((await verifyWebhook(body, headersWith(), secret, { at: soon })).id).toBe(id)
})

test('a body that was parsed, or a secret that is none, is the fault of the caller', async () => {
  for (const call of [
    () => verifyWebhook(JSON.parse(body), headersWith(), secret, { at }),
    () => verifyWebhook(body, headersWith(), 'whsec_%', { at }),
    () => verifyWebhook(body, headersWith(), '', { at }),
    () => verifyWebhook(body, headersWith(), [], { at }),
  ])
    await expect(call()).rejects.toMatchObject({ code: 'invalid_argument' })
})
