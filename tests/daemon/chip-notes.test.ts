import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminToken, openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

describe('notes of a chip', () => {
  let t: TestApp
  const clock = testClock()
  beforeAll(async () => {
    t = await openTestApp({ clock, seed })
  })
  afterAll(() => t.close())

  const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) => {
    const answer = await t.app.inject({
      method,
      url: `/admin/chips/${path}`,
      headers: { authorization: `Bearer ${adminToken}` },
      ...(payload ? { payload } : {}),
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  const textsOf = async (uid: string) =>
    (await call('GET', `${uid}/notes`)).body.map(({ text }: { text: string }) => text)

  test('are in its story, newest first, escaped, until one is removed, and in the audit log', async () => {
    const made = await call('POST', `${uids.blank}/notes`, { text: 'Repaired in Oslo' })
    expect(made).toMatchObject({ status: 200, body: { text: 'Repaired in Oslo', by: 'admin:root' } })
    clock.advance('1d')
    await call('POST', `${uids.blank}/notes`, { text: '<script>alert(1)</script>' })
    expect(await textsOf(uids.blank)).toEqual(['<script>alert(1)</script>', 'Repaired in Oslo'])
    const page = async (counter: number) =>
      (await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, counter)) })).body
    const shown = await page(1)
    expect(shown).toMatch(
      /data-story="note"><time datetime="2026-06-02">June 2, 2026<\/time> <span><bdi>&lt;script&gt;[\s\S]*Repaired in Oslo[\s\S]*data-story="setup"/,
    )
    expect(shown).not.toContain('admin:root')
    expect(await call('DELETE', `${uids.blank}/notes/${made.body.id}`)).toMatchObject({ status: 200 })
    expect(await call('DELETE', `${uids.blank}/notes/${made.body.id}`)).toMatchObject({ status: 404 })
    expect(await page(2)).not.toContain('Repaired in Oslo')
    const audit = await t.app.inject({
      url: '/admin/audit?action=chips.note',
      headers: { authorization: `Bearer ${adminToken}` },
    })
    expect(audit.json()).toHaveLength(2)
  })

  test('are a hundred at most, also when ten come at once, and of a bounded length', async () => {
    await t.ctx.db.write((trx) =>
      trx
        .insertInto('chipNotes')
        .values(
          Array.from({ length: 95 }, (_, n) => ({
            chipUid: String(BigInt(`0x${uids.plain}`)),
            text: `n${n}`,
            by: 'x',
            at: '2026-06-01T00:00:00.000Z',
          })),
        )
        .execute(),
    )
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => call('POST', `${uids.plain}/notes`, { text: `at once ${n}` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), ...Array(5).fill(409)])
    expect(answers.find(({ status }) => status === 409)?.body.message).toContain('--remove')
    expect(await textsOf(uids.plain)).toHaveLength(100)
    for (const text of ['', '   ', 'x'.repeat(501)])
      expect(await call('POST', `${uids.blank}/notes`, { text })).toMatchObject({ status: 400 })
    expect(await call('POST', '04000000000080/notes', { text: 'x' })).toMatchObject({ status: 404 })
  })

  test('go with the piece to the chip that replaces its chip, and so does its public page', async () => {
    await t.app.inject({
      method: 'PATCH',
      url: '/admin/teams/1',
      headers: { authorization: `Bearer ${adminToken}` },
      payload: { publicPages: true },
    })
    const publicPage = async (uid: string) => (await call('GET', uid)).body.publicPage
    const before = await publicPage(uids.events)
    expect(before).toMatch(/^http.*\/p\/[\w-]{21}$/)
    await call('POST', `${uids.events}/notes`, { text: 'Shown in Turin' })
    const replaced = await call('POST', `${uids.events}/replace`, { with: uids.blank })
    expect(replaced.status).toBe(200)
    expect(await textsOf(uids.blank)).toContain('Shown in Turin')
    expect(await publicPage(uids.blank)).toBe(before)
    expect(await publicPage(uids.events)).toBeNull()
    expect((await call('DELETE', uids.blank)).status).toBe(200)
    expect((await t.app.inject({ url: new URL(before).pathname })).statusCode).toBe(404)
  })
})
