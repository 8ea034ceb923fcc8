import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { adminToken, openTestApp } from '../support/daemon.ts'
import { uids } from '../support/seeds.ts'
import { writtenBefore } from '../support/written-before.ts'

test('teams of the version before have no public pages and the built-in words, until they say so; their chips stay', async () => {
  const at = '2026-01-01T00:00:00.000Z'
  const uid = String(BigInt(`0x${uids.blank}`))
  const opened = await writtenBefore('0029-public-pages', ({ db }) =>
    db.write(async (trx) => {
      await sql`insert into teams (name, "createdAt") values ('Acme', ${at})`.execute(trx)
      await sql`insert into "chipGroups" ("teamId", name, "createdAt") values (1, 'All', ${at})`.execute(trx)
      await sql`insert into chips (uid, "teamId", "chipGroupId", family, generation, "lastCounter", simulated, "createdAt")
        values (${uid}, 1, 1, 'ntag424', 0, -1, 0, ${at})`.execute(trx)
    }),
  )
  const { app, close } = await openTestApp(opened)
  const call = async (method: 'GET' | 'PATCH' | 'POST' | 'PUT', url: string, payload?: object) => {
    const headers = { authorization: `Bearer ${adminToken}` }
    const answer = await app.inject({
      method,
      url: `/admin/${url}`,
      headers,
      ...(payload ? { payload } : {}),
    })
    expect(answer.statusCode, answer.body).toBe(200)
    return answer.json()
  }
  expect((await call('GET', `chips/${uids.blank}`)).publicPage).toBeNull()
  expect(await call('PATCH', 'teams/1', { publicPages: true })).toMatchObject({ publicPages: true })
  await call('POST', `chips/${uids.blank}/notes`, { text: 'Repaired in Oslo' })
  await call('PUT', 'pages/strings', { team: 'Acme', strings: { en: { 'story.title': 'Its life' } } })
  const { publicPage } = await call('GET', `chips/${uids.blank}`)
  const page = await app.inject({ url: new URL(publicPage).pathname })
  expect(page.statusCode).toBe(200)
  expect(page.body).toMatch(/Its life[\s\S]*Repaired in Oslo[\s\S]*datetime="2026-01-01"/)
  // The name by which operators know the team is theirs.
  expect(page.body).not.toContain('Acme')
  await close()
})
