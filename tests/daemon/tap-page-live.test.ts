import type { AddressInfo } from 'node:net'
import { setTimeout as later } from 'node:timers/promises'
import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'
import { Browser } from '../support/tap-browser.ts'

let p: Phygitals
let url: string
beforeAll(async () => {
  p = await openPhygitals()
  await p.app.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(p.app.server.address() as AddressInfo).port}`
})
afterAll(() => p.close())

interface Event {
  cards: { key: string; html: string }[]
  endsAt: string
  isLive: boolean
}

/** Follows a page as its script does. */
async function follow(ref: string, browser?: Browser, at = url) {
  const answer = await fetch(`${at}/t/live`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', ...browser?.headers },
    body: new URLSearchParams({ ref }),
  })
  const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader()
  let text = ''
  const next = async (): Promise<Event | undefined> => {
    for (;;) {
      const [, data, rest] = /event: cards\ndata: (.*)\n\n([\s\S]*)/.exec(text) ?? []
      if (data !== undefined) {
        text = rest ?? ''
        return JSON.parse(data)
      }
      const { done, value } = await reader.read()
      if (done) return undefined
      text += Buffer.from(value).toString()
    }
  }
  return { status: answer.status, answer, next, cancel: () => reader.cancel() }
}

const card = (event: Event | undefined, key: string): string =>
  event?.cards.find((one) => one.key === key)?.html ?? ''

describe('POST /t/live', () => {
  test('tells at once what the page shows, and ends where nothing is under way', async () => {
    const page = await new Browser(p).tap(chips.jacket(1), 1)
    const stream = await follow(page.ref)
    expect(stream.answer.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.answer.headers.get('access-control-allow-origin')).toBeNull()
    const first = await stream.next()
    expect(first).toMatchObject({ isLive: false })
    expect(first?.cards.map(({ key }) => key).sort()).toEqual(['claim-0', 'owner', 'time'])
    // The owner gave the address a name, which leads back to it.
    expect(card(first, 'owner')).toContain('alice.eth')
    expect(await stream.next()).toBeUndefined()
  })

  test('follows a claim that another tab makes to its end, and then names the new owner', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.art(1), 1)
    await browser.press(page, { kind: 'register', recipient: bob })
    const stream = await follow(page.ref)
    expect(await stream.next()).toMatchObject({ isLive: true })
    // It waits for the second tap, which may be minutes away.
    await p.ctx.db.write((trx) =>
      trx.updateTable('claimRegistrations').set({ allowedAt: '2020-01-01T00:00:00.000Z' }).execute(),
    )
    const second = await browser.tap(chips.art(1), 2)
    const other = await follow(second.ref, browser)
    expect(card(await other.next(), 'owner')).toContain('alice.eth')
    expect(await browser.press(second, { kind: 'claim', recipient: bob })).toMatchObject({ status: 200 })
    const seen: string[] = []
    for (let event = await other.next(); event; event = await other.next())
      seen.push(
        ...event.cards.map(({ key, html }) => `${key} ${/data-state="(\w+)"/.exec(html)?.[1] ?? html}`),
      )
    expect(seen).toContain('claim-0 confirmed')
    expect(seen.findLast((one) => one.startsWith('owner'))).toContain('bob.eth')
    await stream.cancel()
  })

  test('whoever knows of a claim learns the new owner for everyone', async () => {
    const shown = async (load: () => ReturnType<Browser['load']>) => {
      for (;;) {
        const [, owner] = /data-owner="([^"]*)"/.exec((await load()).answer.body) ?? []
        // Of a chain that is slow to answer, a page says nothing.
        if (owner !== '') return owner
      }
    }
    const [browser, other] = [new Browser(p), new Browser(p)]
    const page = await browser.tap(chips.jacket(8), 1)
    await browser.press(page, { kind: 'claim', recipient: bob })
    const { parameters } = await other.tap(chips.jacket(8), 2)
    await p.settled()
    expect(await shown(() => browser.load(page.parameters))).toBe(getAddress(bob))
    expect(await shown(() => other.load(parameters))).toBe(getAddress(bob))
  })

  test('ends also where the claimed token has moved on, and the chain is slow', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(7), 1)
    await browser.press(page, { kind: 'claim', recipient: bob })
    await p.settled()
    const moved = await p.ask(
      '/phygitals/transfer',
      { ...p.token('JKT', 7), recipient: carol },
      { key: acmeKey },
    )
    expect(moved.status).toBe(200)
    await p.settled()
    const { client } = p.ctx.chains.get(31337)
    const call = client.call
    let asked = 0
    client.call = async (...parameters) => {
      asked += 1
      await later(200)
      return call(...parameters)
    }
    try {
      const stream = await follow(page.ref)
      const owners: string[] = []
      for (let event = await stream.next(); event; event = await stream.next())
        owners.push(card(event, 'owner'))
      expect(owners.at(-1)).toContain(getAddress(carol))
      expect(asked).toBeLessThan(6)
    } finally {
      client.call = call
    }
  })

  test('is a plain answer to who does not ask for a stream, and to the fifth stream of a page', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.art(2), 1)
    await browser.press(page, { kind: 'register', recipient: bob })
    const polled = await browser.post('/t/live', { ref: page.ref })
    expect(polled.json()).toMatchObject({ isLive: true, endsAt: expect.any(String) })
    expect(polled.headers['cache-control']).toBe('no-store')
    const streams = await Promise.all(Array.from({ length: 4 }, () => follow(page.ref)))
    const fifth = await follow(page.ref)
    expect(fifth.status).toBe(503)
    expect(fifth.answer.headers.get('retry-after')).toBe('5')
    await Promise.all(streams.map((stream) => stream.cancel()))
    // A place is free again as soon as its connection is closed.
    const status = async () => {
      const stream = await follow(page.ref)
      await stream.cancel()
      return stream.status
    }
    await expect.poll(status).toBe(200)
  })
})

test('streams end with the daemon, which does not wait for them', async () => {
  const other = await openPhygitals()
  await other.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = other.app.server.address() as AddressInfo
  const browser = new Browser(other)
  const page = await browser.tap(chips.art(1), 1)
  await browser.press(page, { kind: 'register', recipient: bob })
  const stream = await follow(page.ref, browser, `http://127.0.0.1:${port}`)
  expect(await stream.next()).toMatchObject({ isLive: true })
  await other.close()
  expect(await stream.next()).toBeUndefined()
})

describe('POST /t/check', () => {
  test('says where a name leads, and what is wrong with what is no recipient, using nothing up', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(2), 1)
    const check = async (recipient: string, kind = 'claim') =>
      (await browser.post('/t/check', { ref: page.ref, kind, id: '0', recipient })).json()
    const short = getAddress(bob).slice(-4)
    expect(await check('bob.eth')).toEqual({ isGood: true, html: expect.stringContaining(short) })
    expect(await check(bob)).toMatchObject({ isGood: true })
    expect(await check(`eip155:31337:${bob}`)).toMatchObject({ isGood: true })
    const mistyped = bob.replace('e', 'E')
    for (const [typed, words] of [
      ['nobody.eth', 'There is no wallet behind this name.'],
      [mistyped, 'There is a mistake in this address.'],
      [`0x${'0'.repeat(40)}`, 'There is a mistake in this address.'],
      [bob.slice(0, -1), '0x and 40 characters; this has 39.'],
      ['nobody', 'a name looks like name.eth.'],
      [`base:${bob}`, 'names another blockchain than this piece’s.'],
      [`eip155:31337:${mistyped}`, 'There is a mistake in this address.'],
      [`<b>${'x'.repeat(300)}`, 'This was not recognized.'],
    ] as const)
      expect(await check(typed)).toEqual({ isGood: false, html: expect.stringContaining(words) })
    expect((await p.ask(`/refs/${page.ref}`)).body.isValidRef).toBe(true)
  })
})

describe('what posts to a page', () => {
  test('can do nothing without its ref, whatever cookies come with it', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(3), 1)
    const press = { kind: 'claim', id: '0', recipient: bob }
    const crossSite = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    for (const ref of ['', 'x'.repeat(21), 'short'])
      for (const path of ['/t/act', '/t/check', '/t/live']) {
        const answer = await browser.post(
          path,
          { ...press, ref },
          { ...crossSite, accept: 'application/json' },
        )
        expect(answer.statusCode).toBe(404)
        expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      }
    expect(await browser.states(page)).toEqual({ 'claim-0': { is: 'open' } })
    const json = await p.app.inject({ method: 'POST', url: '/t/act', payload: { ...press, ref: page.ref } })
    expect(json.statusCode).toBe(415)
    const long = await browser.post('/t/act', { ...press, ref: page.ref, deviceId: 'x'.repeat(9000) })
    expect(long.statusCode).toBe(413)
    const preflight = await p.app.inject({
      method: 'OPTIONS',
      url: '/t/act',
      headers: { ...crossSite, 'access-control-request-method': 'POST' },
    })
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('is limited by page, not by address', async () => {
    const browser = new Browser(p)
    const [one, other] = [await browser.tap(chips.jacket(4), 1), await browser.tap(chips.jacket(5), 1)]
    const press = (page: typeof one) => browser.press(page, { kind: 'claim', recipient: 'nobody' })
    const all = await Promise.all(Array.from({ length: 100 }, () => press(one)))
    const refused = all.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.answer.headers['retry-after']).toBeDefined()
    expect(all.filter(({ status }) => status === 400).length).toBeGreaterThanOrEqual(60)
    expect(await press(other)).toMatchObject({ status: 400 })
  })
})
