import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeInPieces, namedChips } from '../../src/daemon/domain/chips/named-chips.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { isPostgres } from '../support/postgres.ts'
import { acmeKey, seed } from '../support/seeds.ts'

const count = 5000
/** A round trip to a server is worth more chips than one to a file. */
const first = isPostgres ? 4000 : 250
const uids = Array.from({ length: count }, (_, at) => String(1_260_000_000_000_000 + at * 7))

let t: TestApp
beforeAll(async () => {
  t = await openTestApp({ seed })
  const imported = await t.app.inject({
    method: 'POST',
    url: '/admin/chips/import?team=Acme&chipGroup=Many&keySet=101&report=failures',
    headers: { ...t.admin, 'content-type': 'text/csv' },
    payload: `uid,item\n${uids.map((uid) => `${uid},jacket`).join('\n')}\n`,
  })
  expect(imported.body.trim()).toBe(`{"created":${count},"unchanged":0,"failed":0}`)
})
afterAll(() => t.close())

const send = (method: 'PATCH' | 'POST', url: string, payload: object) =>
  t.app.inject({ method, url, headers: { 'x-svc-api-key': acmeKey }, payload })
const patch = (redirectUrl: string | null, tagUIDs = uids) =>
  send('PATCH', '/chips', { tagUIDs, updates: { redirectUrl } })
const urls = async (of = uids.slice(0, 900)): Promise<(string | null)[]> => {
  const rows = await t.ctx.db.read
    .selectFrom('chips')
    .select('redirectUrl')
    .where('uid', 'in', of)
    .distinct()
    .execute()
  return rows.map(({ redirectUrl }) => redirectUrl)
}
const records = async (action: string) => {
  const rows = await t.ctx.db.read
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', action)
    .orderBy('id')
    .execute()
  return rows.map(({ target, detail }) => ({ chips: Number.parseInt(target, 10), ...JSON.parse(detail) }))
}

test('an edit of very many chips is a write a piece, each with its own record, and others write in between', async () => {
  let isOver = false
  let others = 0
  const beside = (async () => {
    while (!isOver) {
      await t.ctx.db.write((trx) => trx.selectFrom('teams').select('id').executeTakeFirst())
      others += 1
    }
  })()
  expect((await patch('https://many.example/')).statusCode).toBe(200)
  isOver = true
  await beside
  const pieces = await records('chips.edit')
  expect(pieces.length).toBeGreaterThan(1)
  expect(pieces.reduce((sum, { chips }) => sum + chips, 0)).toBe(count)
  expect(pieces[0]).toMatchObject({ chips: first, of: count, redirectUrl: 'https://many.example/' })
  expect(Math.max(...pieces.map(({ chips }) => chips))).toBeLessThanOrEqual(4000)
  expect(others).toBeGreaterThan(pieces.length / 2)
  expect(await urls()).toEqual(['https://many.example/'])
})

test('of ten edits of the same chips at once each is done as a whole, few chips or many', async () => {
  const few = uids.slice(0, 200)
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, at) => patch(`https://many.example/${at}`, at % 3 === 2 ? few : uids)),
  )
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(200))
  expect(await urls(few)).toHaveLength(1)
  expect(await urls(uids.slice(200, 1100))).toHaveLength(1)
})

test('one unknown chip among very many: nothing is changed, and it is named', async () => {
  const [before] = await urls()
  const answer = await patch('https://nobody.example/', [...uids, '1299999999999999'])
  expect([answer.statusCode, answer.json().message]).toEqual([
    404,
    expect.stringContaining('1299999999999999'),
  ])
  expect(await urls()).toEqual([before])
})

test('an event is assigned to very many chips piece by piece, and once', async () => {
  const assign = () => send('POST', '/events/assign/legacy', { tagUIDs: uids, guestbookEventId: 1 })
  expect((await assign()).statusCode).toBe(200)
  const pieces = await records('guestbook.assign')
  expect(pieces.length).toBeGreaterThan(1)
  expect(pieces.reduce((sum, { assigned }) => sum + assigned, 0)).toBe(count)
  expect((await assign()).statusCode).toBe(200)
  expect(await records('guestbook.assign')).toHaveLength(pieces.length)
})

test('what fails in the middle says how far it came, and a chip that goes meanwhile is left out', async () => {
  const known = await namedChips(t.ctx.db, 1, uids)
  let pieces = 0
  const failing = changeInPieces(t.ctx, { teamId: 1, uids: known }, async (_trx, { uids: piece }) => {
    pieces += 1
    if (pieces === 2) throw new Error('the disk is full')
    return piece.length
  })
  await expect(failing).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(
      new RegExp(`^${first} of 5000 chips were changed, .*Send the same request again`),
    ),
  })
  const gone = changeInPieces(t.ctx, { teamId: 1, uids: known }, async (_trx, { uids: piece }) => {
    pieces += 1
    return piece.length - (pieces === 4 ? 1 : 0)
  })
  await expect(gone).resolves.toBeUndefined()
})

test("an item's chips and an export go on from page to page", async () => {
  const listed = await t.app.inject({ url: '/items/jacket/chips', headers: { 'x-svc-api-key': acmeKey } })
  const own = new Set(listed.json().map(({ uid }: { uid: string }) => uid))
  expect(uids.every((uid) => own.has(uid))).toBe(true)
  const exported = await t.app.inject({
    url: '/admin/chips/export?team=Acme&chipGroup=Many',
    headers: t.admin,
  })
  expect(exported.body.trim().split('\n')).toHaveLength(count)
})
