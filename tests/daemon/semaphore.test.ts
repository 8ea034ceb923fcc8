import { describe, expect, test } from 'vitest'
import { Semaphore } from '../../src/values/semaphore.ts'
import { testClock } from '../support/daemon.ts'
import { configOf, countOf, dial, head, listening, openForTest, withKey } from '../support/raw-http.ts'
import { acmeKey, otherKey, uids } from '../support/seeds.ts'

describe('turns', () => {
  test('are taken in order, by each owner for itself, and end with whoever goes away', () => {
    const semaphore = new Semaphore({ concurrencyPerKey: 2, waitingPerKey: 256, waitMs: 60_000 })
    const went: string[] = []
    const take = (owner: number, name: string) =>
      semaphore.acquire(String(owner), (isGranted) => went.push(`${name} ${isGranted}`))
    const leave = ['a', 'b', 'c', 'd', 'e'].map((name) => take(1, name))
    take(2, 'other')()
    expect(went).toEqual(['a true', 'b true', 'other true'])
    leave[2]?.()
    leave[0]?.()
    leave[0]?.()
    expect(went.slice(3)).toEqual(['d true'])
    leave[1]?.()
    leave[3]?.()
    leave[4]?.()
    expect(went.slice(4)).toEqual(['e true'])
    expect(new Set([take(1, 'f'), take(1, 'g')]).size).toBe(2)
    expect(went.slice(5)).toEqual(['f true', 'g true'])
  })

  test('are waited for by a bounded number', () => {
    const semaphore = new Semaphore({ concurrencyPerKey: 1, waitingPerKey: 256, waitMs: 60_000 })
    const refused: boolean[] = []
    const leave = Array.from({ length: 258 }, () =>
      semaphore.acquire('1', (isGranted) => refused.push(!isGranted)),
    )
    expect(refused).toEqual([false, true])
    for (const one of leave) one()
  })
})

describe('an API key', () => {
  test('has a budget of its own, also where no key is needed', async () => {
    const clock = testClock()
    const t = await openForTest({ clock, env: { TAPCHIP_KEY_RATE_LIMIT: '4', TAPCHIP_RATE_LIMIT: '1' } })
    const ask = (url: string, key: string) => t.app.inject({ url, headers: withKey(key) })
    for (const url of ['/chip-groups', '/refs/x', '/refs/x', '/items'])
      expect((await ask(url, acmeKey)).statusCode).toBeLessThan(429)
    for (const url of ['/chip-groups', '/refs/x', '/nothing']) {
      const refused = await ask(url, acmeKey)
      expect(refused.statusCode).toBe(429)
      expect(refused.headers['retry-after']).toBe('15')
      expect(refused.json()).toMatchObject({
        code: 'rate_limited',
        message: expect.stringContaining('4 per minute'),
      })
    }
    expect((await ask('/chip-groups', otherKey)).statusCode).toBe(200)
    expect((await t.app.inject({ url: '/refs/x' })).statusCode).toBe(404)
    expect(
      (await t.app.inject({ url: '/admin/teams', headers: { ...t.admin, ...withKey(acmeKey) } })).statusCode,
    ).toBe(200)
    clock.advance('15s')
    expect((await ask('/chip-groups', acmeKey)).statusCode).toBe(200)
    expect((await ask('/chip-groups', acmeKey)).statusCode).toBe(429)
  })

  test('has one by default, which an ephemeral daemon has not', () => {
    expect(configOf({})).toMatchObject({ rateLimit: 600, keyRateLimit: 60_000, guessLimit: 300 })
    expect(configOf({ TAPCHIP_RATE_LIMIT: 'off', TAPCHIP_KEY_RATE_LIMIT: 'off' })).toMatchObject({
      rateLimit: undefined,
      keyRateLimit: undefined,
      guessLimit: 300,
    })
    expect(configOf({ TAPCHIP_EPHEMERAL: 'on' })).toMatchObject({
      rateLimit: undefined,
      keyRateLimit: undefined,
      guessLimit: undefined,
    })
  })

  test('has four long requests at once: the next waits, and nobody else does', async () => {
    const t = await openForTest()
    const port = await listening(t)
    const stream = (key: string) =>
      head('POST /chips/batch?dryRun=true', {
        ...withKey(key),
        'content-type': 'application/x-ndjson',
        'transfer-encoding': 'chunked',
        connection: 'close',
      })
    const row = `{"uid":"${uids.jacket}","redirectUrl":null}\n`
    const chunk = `${row.length.toString(16)}\r\n${row}\r\n`
    const end = '0\r\n\r\n'
    const begun = countOf(t, '/chips/batch')
    const four = []
    for (let n = 0; n < 4; n++) four.push(await dial(port, stream(acmeKey) + chunk))
    await expect.poll(begun).toBe(4)
    const fifth = await dial(port, stream(acmeKey) + chunk + end)
    await expect.poll(begun).toBe(5)
    // Whole, and still not answered, while another team and short requests of the same key are.
    const other = await dial(port, stream(otherKey) + chunk + end)
    expect(await other.heard).toContain('HTTP/1.1 200')
    expect((await fetch(`http://127.0.0.1:${port}/chip-groups`, { headers: withKey(acmeKey) })).status).toBe(
      200,
    )
    expect(fifth.soFar()).toBe('')
    four[0]?.socket.write(end)
    expect(await four[0]?.heard).toContain('"changed"')
    expect(await fifth.heard).toContain('"changed"')
    // Whoever goes away makes room as well.
    const sixth = await dial(port, stream(acmeKey) + chunk)
    await expect.poll(begun).toBe(7)
    const seventh = await dial(port, stream(acmeKey) + chunk + end)
    four[1]?.socket.destroy()
    expect(await seventh.heard).toContain('"changed"')
    sixth.socket.destroy()
  })

  test('whose other requests do not end is told to come back', async () => {
    const t = await openForTest({ patience: { requestMs: 60_000, queueMs: 20 } })
    const port = await listening(t)
    const begun = countOf(t, '/chips/batch')
    const headers = { ...withKey(acmeKey), 'content-type': 'application/x-ndjson', 'content-length': 10 }
    for (let n = 0; n < 4; n++) await dial(port, head('POST /chips/batch', headers))
    await expect.poll(begun).toBe(4)
    const answer = await t.app.inject({
      method: 'POST',
      url: '/chips/batch',
      headers: { ...withKey(acmeKey), 'content-type': 'application/x-ndjson' },
      payload: '{}',
    })
    expect(answer.statusCode).toBe(429)
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.json().code).toBe('rate_limited')
  })
})
