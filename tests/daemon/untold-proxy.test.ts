import { describe, expect, test } from 'vitest'
import { startWarnings } from '../../src/daemon/process/start-warnings.ts'
import type { TestApp } from '../support/daemon.ts'
import { configOf, openForTest } from '../support/raw-http.ts'

describe('a proxy that the daemon was not told of', () => {
  const warnings = async (t: TestApp): Promise<string[]> =>
    (await t.app.inject({ url: '/admin/status', headers: t.admin })).json().warnings

  test('is warned of once, and counted', async () => {
    const lines: string[] = []
    const t = await openForTest({ log: (line) => lines.push(line) })
    expect(await warnings(t)).toEqual([])
    for (let n = 0; n < 3; n++)
      await t.app.inject({ url: '/refs/x', headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(await warnings(t)).toEqual([expect.stringMatching(/^3 requests .*TAPCHIP_TRUST_PROXY/)])
    expect(lines.filter((line) => line.includes('TAPCHIP_TRUST_PROXY'))).toHaveLength(1)
    const told = await openForTest({ env: { TAPCHIP_TRUST_PROXY: '1' } })
    await told.app.inject({ url: '/refs/x', headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(await warnings(told)).toEqual([])
  })

  test.each([
    [{ TAPCHIP_BASE_URL: 'https://tap.example.com' }, 1],
    [{ TAPCHIP_BASE_URL: 'http://tap.example.com' }, 1],
    [{ TAPCHIP_BASE_URL: 'https://tap.example.com', TAPCHIP_HOST: '0.0.0.0' }, 1],
    [{ TAPCHIP_BASE_URL: 'http://192.0.2.7:8484', TAPCHIP_HOST: '0.0.0.0' }, 0],
    [{ TAPCHIP_BASE_URL: 'http://localhost:8484' }, 0],
    [{ TAPCHIP_BASE_URL: 'https://tap.example.com', TAPCHIP_TRUST_PROXY: '1' }, 0],
  ])('shows by the base URL: %j', (env, count) => {
    const words = startWarnings(configOf(env)).filter((line) => line.includes('TAPCHIP_TRUST_PROXY'))
    expect(words).toHaveLength(count)
  })
})
