import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publicPageOf } from '../../src/daemon/domain/tap-page/public-page.ts'
import { adminToken, openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { testOfFile } from '../support/engines.ts'
import { seed, uids } from '../support/seeds.ts'

const operator = { authorization: `Bearer ${adminToken}` }

describe('/p', () => {
  let t: TestApp
  beforeAll(async () => {
    t = await openTestApp({ clock: testClock(), seed })
  })
  afterAll(() => t.close())

  const switchPages = async (publicPages: boolean) => {
    const answer = await t.app.inject({
      method: 'PATCH',
      url: '/admin/teams/1',
      headers: operator,
      payload: { publicPages },
    })
    expect(answer.json()).toMatchObject({ publicPages })
  }
  const pathOf = (uidHex: string) => publicPageOf(t.ctx, String(BigInt(`0x${uidHex}`)))
  const at = (path: string | undefined, headers: Record<string, string> = {}) =>
    t.app.inject({ url: path ?? '/none', headers })

  test('is a piece’s page once its team has switched these on, and is the same after off and on', async () => {
    expect(await pathOf(uids.blank)).toBeUndefined()
    await switchPages(true)
    const path = await pathOf(uids.blank)
    expect(path).toMatch(/^\/p\/[\w-]{21}$/)
    const page = await at(path)
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain(
      `<meta property="og:url" content="${t.ctx.baseUrl.replace(/\/$/, '')}${path}">`,
    )
    expect(page.headers).not.toHaveProperty('set-cookie')
    expect(page.body).not.toMatch(/<form|data-ref/)
    await switchPages(false)
    const off = await at(path, { accept: 'text/html' })
    expect(off.statusCode).toBe(404)
    expect(off.headers['content-type']).toContain('text/html')
    await switchPages(true)
    expect(await pathOf(uids.blank)).toBe(path)
    expect((await at(path)).body).toBe(page.body)
  })

  test('has one ID, also of ten that are made at once', async () => {
    await switchPages(true)
    const paths = await Promise.all(Array.from({ length: 10 }, () => pathOf(uids.jacket)))
    expect(new Set(paths).size).toBe(1)
    expect(paths[0]).toMatch(/^\/p\//)
  })

  test('says nothing of the UID, in any form', async () => {
    await switchPages(true)
    for (const uid of [uids.blank, uids.events, uids.jacket]) {
      const { body, headers } = await at(await pathOf(uid))
      const said = `${body}${JSON.stringify(headers)}`.toUpperCase()
      for (const form of [uid, uid.match(/../g)?.join(':') ?? '', String(BigInt(`0x${uid}`))])
        expect(said).not.toContain(form.toUpperCase())
    }
  })

  test('is kept by caches for a minute, by language', async () => {
    await switchPages(true)
    const path = await pathOf(uids.blank)
    const first = await at(path)
    expect(first.headers).toMatchObject({
      'cache-control': 'public, max-age=60',
      vary: 'accept-language, accept-encoding',
    })
    const again = await at(path, { 'if-none-match': String(first.headers.etag) })
    expect(again.statusCode).toBe(304)
    expect(again.body).toBe('')
    const german = await at(path, { 'if-none-match': String(first.headers.etag), 'accept-language': 'de' })
    expect(german.statusCode).toBe(200)
    expect(german.body).toContain('lang="de"')
  })

  test('has the words of its team, but for the one that warns', async () => {
    await switchPages(true)
    const put = (strings: object) =>
      t.app.inject({
        method: 'PUT',
        url: '/admin/pages/strings',
        headers: operator,
        payload: { team: seed.teams[0]?.name, strings },
      })
    expect((await put({ en: { 'story.title': 'Its <life>' } })).statusCode).toBe(200)
    expect((await at(await pathOf(uids.events))).body).toContain('Its &lt;life&gt;')
    expect((await put({ en: { 'publicPage.about': 'This is proof.' } })).body).toContain('cannot be replaced')
    await put({})
  })

  test('is gone while its chip is disabled, and for every other ID', async () => {
    await switchPages(true)
    const path = await pathOf(uids.events)
    const chip = async (what: string) =>
      t.app.inject({
        method: 'POST',
        url: `/admin/chips/${uids.events}/${what}`,
        headers: operator,
        payload: {},
      })
    await chip('disable')
    expect((await at(path)).statusCode).toBe(404)
    expect(await pathOf(uids.events)).toBeUndefined()
    await chip('enable')
    expect((await at(path)).statusCode).toBe(200)
    for (const other of ['/p/x', `/p/${'x'.repeat(200)}`, '/p/%00', '/p/'])
      expect((await at(other)).statusCode).toBeGreaterThanOrEqual(400)
    const typeFor = async (accept: string) => (await at('/p/x', { accept })).headers['content-type']
    expect(await typeFor('text/html,*/*;q=0.8')).toMatch('text/html')
    expect(await typeFor('*/*')).toMatch('application/json')
  })

  testOfFile('reads its story by indexes alone', async () => {
    const { rows } = await sql<{
      sql: string
    }>`select sql from sqlite_schema where name = 'badgeClaimsLatestOfChip'`.execute(t.ctx.db.read)
    expect(rows).toHaveLength(1)
    const steps: string[] = []
    for (const query of [
      sql`select id from transactions where topic = 'x' order by id desc limit 20`,
      sql`select id from "badgeClaims" where "chipUid" = 'x' order by id desc limit 20`,
      sql`select "transactionId" from "guestbookEntries" where "chipUid" = 'x' order by "transactionId" desc limit 20`,
      sql`select id from "chipNotes" where "chipUid" = 'x' order by id desc limit 20`,
      sql`select uid from chips where "publicId" = 'x'`,
    ]) {
      const plan = await sql<{ detail: string }>`explain query plan ${query}`.execute(t.ctx.db.read)
      steps.push(...plan.rows.map(({ detail }) => detail))
    }
    for (const step of steps) expect(step).toMatch(/^SEARCH .* USING (COVERING INDEX|INDEX|PRIMARY KEY)/)
    expect(steps).toHaveLength(5)
  })
})
