import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { DatabaseUnavailable } from '../../src/daemon/store/database/database.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { allSettled, testClock } from '../support/daemon.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { openReceiver, type Receiver, signaturesBy } from '../support/webhooks.ts'

const recipient = '0x52908400098527886E0F7030069857D2E4169EE7'
const decimal = (hex: string) => BigInt(`0x${hex}`).toString()

let t: AdminApp
let receiver: Receiver
let secret: string
beforeAll(async () => {
  receiver = await openReceiver()
  const env = { TAPCHIP_WEBHOOKS_PRIVATE: 'on' }
  t = await openAdminApp({ seed, chain: true, clock: testClock(), env })
  const made = await t.call('POST /admin/webhooks', { team: 'Acme', url: receiver.url })
  secret = made.body.secret
})
afterAll(async () => {
  receiver.close()
  await t.close()
})

let counter = 0
const spoken: string[] = []

/** Taps a chip and queries its ref. */
async function tapped(uid: string) {
  counter += 1
  const page = await t.app.inject({ url: tapPath(tap(derived, { uid }, counter)) })
  const ref =
    /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? /svcRef=([\w-]{21})/.exec(String(page.headers.location))?.[1]
  const answer = (await t.call(`GET /refs/${ref}`)).body
  spoken.push(
    ref ?? '',
    ...(JSON.stringify(answer).match(/"otp":"[^"]+"/g) ?? []).map((otp) => otp.slice(7, -1)),
  )
  return answer
}

const withCode = (endpoint: string, code: string, body: object) =>
  t.call(endpoint, body, { 'x-svc-code': code })

test('each type is told of once, signed, with what happened and no code, key, or ref', async () => {
  const { linkedToken } = await tapped(uids.twin)
  const { otp: claimCode, ...token } = linkedToken
  const registered = await withCode('POST /phygitals/claim-registration/pullable', claimCode, { recipient })
  expect(registered.status).toBe(200)
  const { badgeEvents, guestbookEvents } = await tapped(uids.events)
  const badge = { recipient: 'guest@visitors.example', poapEventId: badgeEvents[0].id }
  expect((await withCode('POST /badge-events/mint', badgeEvents[0].otp, badge)).status).toBe(200)
  expect((await withCode('POST /events/mint/self', guestbookEvents[0].otp, { recipient })).status).toBe(200)
  const moved = await t.call(
    'POST /phygitals/transfer',
    { ...token, chainId: 31337, recipient },
    { 'x-svc-api-key': acmeKey },
  )
  expect(moved.status).toBe(200)
  // The second use of a tap.
  await t.app.inject({ url: tapPath(tap(derived, { uid: uids.events }, counter)) })
  await t.ctx.tapLog.flush()
  await allSettled(t.ctx)
  const isMoved = ({ type, data }: { type: string; data: { initialTxHash?: string } }) =>
    type === 'transaction.settled' && data.initialTxHash === moved.body.initialTxHash
  const wanted = [
    'tap.valid',
    'tap.refused',
    'claim.registered',
    'badge.minted',
    'guestbook.minted',
    'token.transferred',
  ]
  await receiver.until(
    (all) => all.some(isMoved) && wanted.every((type) => all.some((one) => one.type === type)),
  )

  const { received } = receiver
  const of = (type: string) => received.filter((one) => one.type === type).map(({ data }) => data)
  const tapOf = (uid: string, number: number) => ({
    ...{ uid: decimal(uid), counter: number, via: 'page', keySet: 101, chipGroup: 'Jackets' },
  })
  expect(of('tap.valid')).toEqual([tapOf(uids.twin, 1), tapOf(uids.events, 2)])
  expect(of('tap.refused')).toEqual([{ uid: decimal(uids.events), outcome: 'replayed' }])
  const at = { contractAddress: token.contractAddress, chainId: 31337, tokenId: '1' }
  expect(of('claim.registered')).toEqual([
    { ...at, recipient, allowedAt: registered.body.allowedAt, expiresAt: registered.body.expiresAt },
  ])
  expect(of('token.transferred')).toEqual([{ ...at, recipient, initialTxHash: moved.body.initialTxHash }])
  expect(of('guestbook.minted')).toMatchObject([{ chainId: 31337, tokenId: '1', recipient }])
  expect(of('badge.minted')).toEqual([
    { badgeEventId: badge.poapEventId, recipient: badge.recipient, uid: decimal(uids.events) },
  ])
  const { hash, initialTxHash } = received.find(isMoved)?.data ?? {}
  expect(received.find(isMoved)?.data).toEqual({ hash, initialTxHash, state: 'confirmed', chainId: 31337 })
  expect(hash).toMatch(/^0x[0-9a-f]{64}$/)

  expect(new Set(received.map(({ id }) => id)).size).toBe(received.length)
  for (const one of received) {
    expect(signaturesBy(secret, one)).toBe(1)
    expect(one.headers['content-type']).toBe('application/json')
    expect(Object.keys(JSON.parse(one.text))).toEqual(['type', 'timestamp', 'data'])
    for (const word of [...spoken.filter((word) => word !== ''), acmeKey])
      expect(one.text).not.toContain(word)
  }
  expect(spoken.length).toBeGreaterThan(5)
})

test("another team's events are not told, and a write that fails tells nothing", async () => {
  const before = receiver.received.length
  await t.call('POST /admin/webhooks', { team: 'Other', url: `${receiver.url}/other` })
  const used = await withCode('POST /phygitals/claim-registration/pullable', spoken[1] ?? '', { recipient })
  expect(used.status).toBe(401)
  await tapped(uids.blank)
  await receiver.until((all) => all.length > before)
  expect(receiver.received.slice(before).map(({ type, path }) => [type, path])).toEqual([
    ['tap.valid', '/in'],
  ])
})

test('a tap of set-up is told only to webhooks that name it', async () => {
  const made = await t.call('POST /admin/webhooks', {
    ...{ team: 'Acme', url: `${receiver.url}/table`, events: ['tap.setup'] },
  })
  expect(made.body.events).toEqual(['tap.setup'])
  const list = (await t.call('GET /admin/webhooks?team=Acme')).body as { events: string[] }[]
  expect(list.map(({ events }) => events.includes('tap.setup'))).toEqual([false, true])
  const before = receiver.received.length
  counter += 1
  const { e, c, d } = tap(derived, { uid: uids.blank }, counter)
  const answer = await t.call('POST /admin/taps/verify', { parameters: { e, c, d } })
  expect(answer.body).toMatchObject({ uid: decimal(uids.blank), isValidTap: true })
  await tapped(uids.blank)
  await receiver.until((all) => all.slice(before).filter(({ type }) => type.startsWith('tap.')).length === 2)
  const told = receiver.received.slice(before).map(({ type, path, data }) => [path, type, data.via])
  expect(told.sort()).toEqual([
    ['/in', 'tap.valid', 'page'],
    ['/in/table', 'tap.setup', 'setup'],
  ])
})

test('a tap of a disabled chip is answered as one, even if that cannot be recorded for webhooks', async () => {
  await t.call(`POST /admin/chips/${uids.blank}/disable`, {})
  const { db } = t.ctx
  const { write } = db
  onTestFinished(() => {
    db.write = write
  })
  db.write = () => Promise.reject(new DatabaseUnavailable(new Error('gone')))
  counter += 1
  const url = tapPath(tap(derived, { uid: uids.blank }, counter))
  expect((await t.app.inject({ url })).statusCode).toBe(404)
})
