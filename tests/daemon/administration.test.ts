import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, startTestDaemon, type TestApp, testClock } from '../support/daemon.ts'
import { seed } from '../support/seeds.ts'

// What an attacker tried, and how it ends now.

let t: TestApp
const clock = testClock()
beforeAll(async () => {
  t = await openTestApp({ seed, clock })
})
afterAll(() => t.close())

describe('what is the operator’s own', () => {
  test('refuses whatever mark a proxy leaves, also behind a thousand other headers', async () => {
    for (const name of ['x-forwarded-server', 'x-client-ip', 'cdn-loop', 'fly-client-ip']) {
      const answer = await t.app.inject({ url: '/metrics', headers: { [name]: '203.0.113.1' } })
      expect(answer.statusCode).toBe(403)
    }
    const daemon = await startTestDaemon()
    const { port } = new URL(daemon.url)
    const text = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        const many = Array.from({ length: 1200 }, () => 'a:\r\n').join('')
        socket.write(
          `GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n${many}X-Forwarded-For: 203.0.113.1\r\nConnection: close\r\n\r\n`,
        )
      })
      let all = ''
      socket.on('data', (chunk) => {
        all += chunk.toString()
      })
      socket.on('close', () => resolve(all))
    })
    expect(text).toMatch(/^HTTP\/1.1 (403|431) /)
    await daemon.stop()
  })

  test('refuses a name that somebody points at this machine', async () => {
    expect((await t.app.inject({ url: '/metrics', headers: { host: 'evil.example' } })).statusCode).toBe(403)
    for (const host of ['localhost:8484', '127.0.0.1:8484', '[::1]:8484']) {
      expect((await t.app.inject({ url: '/metrics', headers: { host } })).statusCode).toBe(200)
    }
    const away = { url: '/metrics', headers: { host: 'tapchip:8484' }, remoteAddress: '192.0.2.1' }
    expect((await t.app.inject(away)).statusCode).toBe(200)
  })
})
