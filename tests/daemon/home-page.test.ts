import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../support/daemon.ts'

const chrome = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

describe('an address outside the interface', () => {
  let t: TestApp
  beforeAll(async () => {
    t = await openTestApp()
  })
  afterAll(() => t.close())

  const get = (url: string, accept?: string, more: Record<string, string> = {}) =>
    t.app.inject({ url, headers: { ...(accept === undefined ? {} : { accept }), ...more } })

  test('a browser gets a page at /, in its language, that names no team', async () => {
    const answer = await get('/', chrome)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.headers.vary).toContain('accept')
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
    expect(answer.body).toContain('Hold your phone to a chip')
    expect((await get('/?utm=1', chrome, { 'accept-language': 'de' })).body).toContain('lang="de"')
    const head = await t.app.inject({ method: 'HEAD', url: '/', headers: { accept: chrome } })
    expect(head.statusCode).toBe(200)
  })

  test('a browser gets a page for an unknown path', async () => {
    for (const url of ['/nothing/here', '/admin/nothing', '/index.html']) {
      const answer = await get(url, chrome)
      expect([url, answer.statusCode, answer.headers['content-type']]).toEqual([
        url,
        404,
        'text/html; charset=utf-8',
      ])
      expect(answer.body).toContain('There is nothing here')
    }
  })

  test.each([
    ['nothing', undefined],
    ['anything', '*/*'],
    ['JSON', 'application/json'],
    ['JSON before pages', 'text/html;q=0.5, application/json'],
    ['JSON and pages alike', 'application/json, text/html'],
    ['no pages', 'text/html;q=0, */*'],
    ['other text', 'text/plain'],
  ])('a program that asks for %s gets the JSON of every unknown path', async (_name, accept) => {
    for (const url of ['/', '/nothing/here']) {
      const answer = await get(url, accept)
      expect(answer.statusCode).toBe(404)
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      const { requestId, ...body } = answer.json()
      expect(body).toEqual({
        statusCode: 404,
        error: 'Not Found',
        message: 'There is no GET at this path. See /openapi.json for the available endpoints.',
        code: 'not_found',
      })
    }
  })

  test('an endpoint answers a browser with JSON, as it answers programs', async () => {
    const answer = await get('/refs/nonsense', chrome)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  test('pages have an icon at the address where browsers look for one', async () => {
    expect((await get('/', chrome)).body).toContain('<link rel="icon" href="/favicon.ico"')
    const icon = await get('/favicon.ico')
    expect(icon.statusCode).toBe(200)
    expect(icon.headers['content-type']).toBe('image/png')
    expect(icon.rawPayload.subarray(1, 4).toString()).toBe('PNG')
    expect(icon.headers['cache-control']).toContain('max-age')
  })

  test('unknown paths count toward the limit, and a browser that spent it gets a page', async () => {
    const limited = await openTestApp({ env: { TAPCHIP_RATE_LIMIT: '2' } })
    try {
      const load = () => limited.app.inject({ url: '/', headers: { accept: chrome } })
      expect([(await load()).statusCode, (await load()).statusCode]).toEqual([200, 200])
      const refused = await load()
      expect(refused.statusCode).toBe(429)
      expect(refused.headers['content-type']).toBe('text/html; charset=utf-8')
    } finally {
      await limited.close()
    }
  })
})
