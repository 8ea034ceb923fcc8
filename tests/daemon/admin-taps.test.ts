import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp } from '../support/admin.ts'
import { startTestDaemon } from '../support/daemon.ts'

// AN12196 p. 18: a tap of the chip 04DE5F1EACC040 at count 61, under keys of zeros.
const uid = '1370400024739904'
const tap = 'e=EF963FF7828658A599F3041510671E88&c=94EED9EE65337086&d=101'
const forged = 'e=EF963FF7828658A599F3041510671E88&c=94EED9EE65337087&d=101'
const nobodys = `e=${'0'.repeat(32)}&c=${'0'.repeat(16)}&d=999`

const seed = {
  version: 1,
  keySets: [{ id: 101, metaReadKey: '0'.repeat(32), fileReadKey: '0'.repeat(32), diversification: 'none' }],
  teams: [
    { name: 'Acme', chipGroups: [{ name: 'G', chips: [{ uid: '04DE5F1EACC040', keySet: 101 }] }] },
    { name: 'Globex', apiKeys: [{ name: 'ops', key: 'svc_globex-ops' }] },
  ],
}

test('a tap of set-up is used up like any other, and only counted where it is asked for', async () => {
  const t = await openAdminApp({ seed })
  const parameters = Object.fromEntries(new URLSearchParams(tap))
  const verify = () => t.call('POST /admin/taps/verify', { parameters })
  const answers = await Promise.all(Array.from({ length: 10 }, verify))
  expect(answers.map(({ body }) => body.isValidTap).sort()).toEqual([...Array(9).fill(false), true])
  const refused = await t.call('POST /admin/taps/verify', { parameters: { ...parameters, d: '999' } })
  expect(refused.status).toBe(404)
  await t.call(`GET /chips/find?${tap}`)

  const list = (await t.call('GET /admin/taps')).body as { via: string; outcome: string }[]
  expect(list.filter(({ via }) => via === 'setup')).toHaveLength(11)
  expect(list.filter(({ outcome }) => outcome === 'valid')).toMatchObject([
    { uid, via: 'setup', counter: 61 },
  ])
  const stats = async (more = '') =>
    (await t.call(`GET /admin/taps/stats?by=outcome&team=Acme${more}`)).body.rows.filter(
      ({ taps }: { taps: number }) => taps > 0,
    )
  expect(await stats()).toEqual([{ outcome: 'replayed', taps: 1 }])
  expect(await stats('&includeSetup=true')).toEqual([
    { outcome: 'valid', taps: 1 },
    { outcome: 'replayed', taps: 10 },
    { outcome: 'unknown-key-set', taps: 1 },
  ])
  const { text } = await t.call('GET /metrics')
  expect(text).toContain('tapchip_setup_taps_total 11')
  expect(text).toContain('tapchip_taps_total{outcome="replayed"} 1')
  expect(text).not.toContain('tapchip_taps_total{outcome="valid"}')
  await t.close()
})

test('a table with the API key of a team does not use up the taps of another team', async () => {
  const t = await openAdminApp({ seed })
  const parameters = Object.fromEntries(new URLSearchParams(tap))
  const headers = { ...t.admin, 'x-svc-api-key': 'svc_globex-ops' }
  expect((await t.call('POST /admin/taps/verify', { parameters }, headers)).status).toBe(404)
  expect((await t.call('GET /admin/taps')).body).toEqual([])
  expect((await t.call('POST /admin/taps/verify', { parameters })).body).toMatchObject({ isValidTap: true })
  await t.close()
})

describe('the list', () => {
  let t: AdminApp
  beforeEach(async () => {
    t = await openAdminApp({ seed })
    for (const query of [nobodys, tap, tap, forged]) await t.call(`GET /chips/find?${query}`)
  })
  afterEach(() => t.close())

  const outcomes = async (query: string, headers?: Record<string, string>) =>
    (await t.call(`GET /admin/taps?${query}`, undefined, headers)).body.map(
      ({ outcome }: { outcome: string }) => outcome,
    )

  test('has taken and refused taps, newest first, and never what they were made of', async () => {
    const { body, text } = await t.call('GET /admin/taps')
    const chip = {
      uid,
      team: 'Acme',
      keySet: 101,
      via: 'find',
      tamper: null,
      fileData: null,
      at: expect.any(String),
      id: expect.any(Number),
    }
    expect(body.filter((row: { uid: string }) => row.uid !== null)).toEqual([
      { ...chip, outcome: 'wrong-mac', counter: null },
      { ...chip, outcome: 'replayed', counter: 61 },
      { ...chip, outcome: 'valid', counter: 61 },
    ])
    expect(body).toContainEqual({
      ...chip,
      uid: null,
      team: null,
      keySet: 999,
      counter: null,
      outcome: 'unknown-key-set',
    })
    for (const secret of tap.match(/[0-9A-F]{16,}/g) ?? []) expect(text).not.toContain(secret)
  })

  test('is filtered by team, chip, outcome and time, and read page by page', async () => {
    expect(await outcomes('outcome=valid')).toEqual(['valid'])
    expect(await outcomes('outcome=refused')).toHaveLength(3)
    expect(await outcomes(`uid=04:DE:5F:1E:AC:C0:40`)).toEqual(['wrong-mac', 'replayed', 'valid'])
    expect(await outcomes('uid=1')).toEqual([])
    expect(await outcomes('team=Globex')).toEqual(['unknown-key-set'])
    expect(await outcomes('', { ...t.admin, 'x-svc-api-key': 'svc_globex-ops' })).toEqual(['unknown-key-set'])
    expect(await outcomes('since=2999-01-01')).toEqual([])
    const [, second] = (await t.call('GET /admin/taps')).body
    expect((await t.call(`GET /admin/taps?limit=1&before=${second.id + 1}`)).body).toEqual([second])
    expect((await t.call('GET /admin/taps?team=Nobody')).status).toBe(404)
    expect((await t.call('GET /admin/taps?outcome=good')).status).toBe(400)
  })
})

test('are counted for a team like they are listed, and wrong questions are refused', async () => {
  const t = await openAdminApp({ seed })
  try {
    for (const query of [nobodys, tap, tap, forged]) await t.call(`GET /chips/find?${query}`)
    const counts = async (query: string, headers?: Record<string, string>) =>
      (await t.call(`GET /admin/taps/stats?by=outcome${query}`, undefined, headers)).body.rows
        .filter(({ taps }: { taps: number }) => taps > 0)
        .map(({ outcome, taps }: { outcome: string; taps: number }) => [outcome, taps])
    expect(await counts('')).toEqual([
      ['valid', 1],
      ['replayed', 1],
      ['wrong-mac', 1],
      ['unknown-key-set', 1],
    ])
    expect(await counts('&team=Globex')).toEqual([['unknown-key-set', 1]])
    expect(await counts('', { ...t.admin, 'x-svc-api-key': 'svc_globex-ops' })).toEqual([
      ['unknown-key-set', 1],
    ])
    expect(await counts('&team=Acme&chipGroup=G&outcome=refused')).toEqual([
      ['replayed', 1],
      ['wrong-mac', 1],
    ])
    for (const query of [
      '',
      '?by=week',
      '?by=day&timeZone=Nowhere',
      '?by=day&since=2026-01-02&until=2026-01-01',
    ])
      expect((await t.call(`GET /admin/taps/stats${query}`)).status).toBe(400)
    expect((await t.call('GET /admin/taps/stats?by=day&team=Globex&chipGroup=G')).status).toBe(404)
  } finally {
    await t.close()
  }
})

describe('the live stream', () => {
  let d: Awaited<ReturnType<typeof startTestDaemon>>
  beforeEach(async () => {
    d = await startTestDaemon({ seed })
  })
  afterEach(() => d.stop())

  /** Reads lines one by one; undefined at the end. */
  async function follow(query = '', token = d.adminToken) {
    const controller = new AbortController()
    const answer = await fetch(`${d.url}/admin/taps/follow?${query}`, {
      headers: bearer(token),
      signal: controller.signal,
    })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    const line = async (): Promise<string | undefined> => {
      for (;;) {
        const end = rest.indexOf('\n')
        if (end >= 0) {
          const found = rest.slice(0, end)
          rest = rest.slice(end + 1)
          return found
        }
        const read = await reader?.read()
        if (!read || read.done) return undefined
        rest += read.value
      }
    }
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('application/x-ndjson')
    expect(await line()).toBe('')
    return { line, abort: () => controller.abort() }
  }
  const find = (query: string) => fetch(`${d.url}/chips/find?${query}`)

  test('tells of each tap as it happens, the refused ones with their reason', async () => {
    const { line, abort } = await follow()
    await find(tap)
    await find(tap)
    await find(nobodys)
    expect(JSON.parse((await line()) ?? '')).toMatchObject({
      id: expect.any(Number),
      uid,
      team: 'Acme',
      outcome: 'valid',
      counter: 61,
    })
    expect(JSON.parse((await line()) ?? '')).toMatchObject({ id: null, uid, outcome: 'replayed' })
    expect(JSON.parse((await line()) ?? '')).toMatchObject({
      id: null,
      uid: null,
      team: null,
      outcome: 'unknown-key-set',
    })
    abort()
  })

  test('is filtered by team and by chip', async () => {
    const globex = await follow('team=Globex')
    const other = await follow('uid=1')
    const one = await follow(`uid=${uid}`)
    await find(tap)
    await find(nobodys)
    await find(forged)
    expect(JSON.parse((await globex.line()) ?? '').outcome).toBe('unknown-key-set')
    expect(JSON.parse((await one.line()) ?? '').outcome).toBe('valid')
    expect(JSON.parse((await one.line()) ?? '').outcome).toBe('wrong-mac')
    for (const { abort } of [globex, other, one]) abort()
  })

  test('ends when the daemon stops, without holding it up', async () => {
    const { line } = await follow()
    const started = performance.now()
    await d.stop()
    expect(performance.now() - started).toBeLessThan(3000)
    expect(await line()).toBeUndefined()
    d = await startTestDaemon()
  })

  test('lets go of the taps when its reader leaves', async () => {
    let following = 0
    const { tapLog } = d.ctx
    const original = tapLog.follow.bind(tapLog)
    tapLog.follow = (listener) => {
      following++
      const end = original(listener)
      return () => {
        following--
        end()
      }
    }
    const { abort } = await follow()
    expect(following).toBe(1)
    abort()
    await expect.poll(() => following).toBe(0)
  })

  test('ends for a token that is revoked', async () => {
    const headers = { ...bearer(d.adminToken), 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'watcher', scopes: ['read'] })
    const created: { id: number; token: string } = JSON.parse(
      await (await fetch(`${d.url}/admin/admin-tokens`, { method: 'POST', headers, body })).text(),
    )
    const { line } = await follow('', created.token)
    await fetch(`${d.url}/admin/admin-tokens/${created.id}`, {
      method: 'DELETE',
      headers: bearer(d.adminToken),
    })
    await find(nobodys)
    expect(await line()).toBeUndefined()
  })
})
