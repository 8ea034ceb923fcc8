import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

describe('an error below /t', () => {
  let t: TestApp
  let port: number
  const clock = testClock()
  beforeAll(async () => {
    t = await openTestApp({ clock, seed, env: { TAPCHIP_RATE_LIMIT: '20' } })
    port = Number(new URL(await t.app.listen({ host: '127.0.0.1', port: 0 })).port)
  })
  afterAll(() => t.close())

  let client = 0
  type Asked = {
    method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
    headers?: Record<string, string>
    payload?: string
  }
  const ask = (url: string, asked: Asked = {}) =>
    t.app.inject({ url, remoteAddress: `192.0.2.${++client}`, ...asked })
  const isPage = (answer: Awaited<ReturnType<typeof ask>>, status: number, words: string) => {
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    const nonce = /style-src 'nonce-([^']+)'/.exec(String(answer.headers['content-security-policy']))?.[1]
    expect(answer.body).toContain(`<style nonce="${nonce}">`)
    expect(answer.body).toContain(`<h1>${words}`)
  }
  const raw = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let answer = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(text))
      socket.on('data', (data) => {
        answer += data
      })
      socket.on('close', () => resolve(answer)).on('error', reject)
    })

  test('is a page, whatever was asked for', async () => {
    for (const url of ['/t/nothing', '/t/a/b?x', '/t//', '/%74/x', '/t/../t/x'])
      isPage(await ask(url), 404, 'There is nothing here')
    expect((await ask('/t/nothing')).body).not.toContain('Not now')
    for (const method of ['POST', 'PUT', 'DELETE'] as const)
      isPage(await ask('/t', { method }), 404, 'There is')
    isPage(await ask('/t/%zz'), 404, 'There is nothing here')
    const twice = `${tapPath(tap(derived, { uid: uids.blank }, 1))}&e=1`
    for (const url of ['/t', '/t?e=%zz&c=%', twice, `/t?e=${'x'.repeat(10_000)}`])
      isPage(await ask(url), 400, 'This link is not complete')
    isPage(
      await ask('/t', { payload: '{', headers: { 'content-type': 'application/json' } }),
      400,
      'This link',
    )
  })

  test('is in the reader’s language, and JSON for whoever asks for it', async () => {
    const german = await ask('/t/nothing', { headers: { 'accept-language': 'de-AT,en;q=0.5' } })
    expect(german.headers['content-language']).toBe('de')
    expect(german.body).toContain('<html lang="de"')
    const program = await ask('/t/nothing', { headers: { accept: 'application/json' } })
    expect(program.json()).toMatchObject({ statusCode: 404, code: 'not_found' })
    expect((await ask('/tnothing')).json()).toMatchObject({ statusCode: 404 })
  })

  test('is a page where HTTP itself ends, too', async () => {
    const long = `GET /t?e=${'x'.repeat(20_000)} HTTP/1.1\r\nhost: a\r\naccept-language: de\r\n\r\n`
    const tooLong = await raw(long)
    expect(tooLong).toMatch(/^HTTP\/1.1 431 .*\r\ncontent-type: text\/html.*<h1>/s)
    expect(tooLong).toMatch(/content-security-policy: default-src 'none'/)
    const broken = await raw('GET /t?e=1 HTTP/1.1\r\nhost: a\r\nbad header\r\naccept-language: de\r\n\r\n')
    expect(broken).toMatch(/^HTTP\/1.1 400 .*\r\ncontent-type: text\/html.*<html lang="de"/s)
    expect(await raw('GET /chips HTTP/1.1\r\nbad header\r\n\r\n')).toContain('application/json')
  })

  test('says how long to wait where too many came, a page that is missing included', async () => {
    const from = (url: string) => t.app.inject({ url, remoteAddress: '198.51.100.1' })
    for (let n = 0; n < 20; n++) isPage(await from('/t/nothing'), 404, 'There is')
    for (const url of ['/t', '/t/nothing', '/t?e=1']) {
      const refused = await from(url)
      isPage(refused, 429, 'Too many')
      expect(Number(refused.headers['retry-after'])).toBe(3)
      expect(refused.body).toMatch(/3 seconds/)
    }
  })

  test('says something else to whoever pressed the buttons of one page too often', async () => {
    const page = await ask(tapPath(tap(derived, { uid: uids.unminted }, 1)))
    const ref = /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const press = () =>
      ask('/t/act', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ ref, kind: 'claim', id: '0', recipient: 'nobody' }).toString(),
      })
    let answer = await press()
    for (let n = 0; n < 100 && answer.statusCode !== 429; n++) answer = await press()
    isPage(answer, 429, 'Too many tries')
  })

  test('of the daemon is a page: while it starts, while its store is away, and where it is wrong', async () => {
    const { db } = t.ctx
    const { write, takeTap } = db
    const fresh = (counter: number) => tapPath(tap(derived, { uid: uids.blank }, counter))
    const failing = async (error: Error) => {
      const refuse = () => Promise.reject(error)
      Object.assign(db, { write: refuse, takeTap: refuse })
      const answer = await ask(fresh(5))
      Object.assign(db, { write, takeTap })
      return answer
    }
    const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
    isPage(await failing(busy), 503, 'This cannot be checked right now')
    t.ctx.isStarting = true
    isPage(await failing(busy), 503, 'One moment, please')
    t.ctx.isStarting = false
    isPage(await failing(new Error('secret detail')), 500, 'Something went wrong')
    // None of them used the tap up.
    expect((await ask(fresh(5))).statusCode).toBe(200)
  })

  test('of a disabled chip is the same at every tap, and at every look at one', async () => {
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('chips')
        .set({ disabledAt: '2026-06-01T00:00:00.000Z' })
        .where('uid', '=', String(BigInt(`0x${uids.twin}`)))
        .execute(),
    )
    for (const counter of [1, 2]) {
      const url = tapPath(tap(derived, { uid: uids.twin }, counter))
      isPage(await ask(url), 404, 'This chip was switched off')
      isPage(await ask(url), 404, 'This chip was switched off')
    }
  })
})
