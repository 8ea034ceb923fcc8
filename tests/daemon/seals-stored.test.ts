import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashCode, spendCode } from '../../src/daemon/domain/codes/otps.ts'
import { Seals } from '../../src/daemon/domain/codes/seals.ts'
import { beginSealEra, endWhatWasOpen, sealEras } from '../../src/daemon/store/backup/restored.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../src/daemon/store/database/database.ts'
import { keepSignature } from '../../src/daemon/store/taps/codes.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { isPostgres } from '../support/postgres.ts'
import { acmeKey, alice, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const at = '2026-06-01T12:00:00.123Z'
const decimal = (hex: string) => BigInt(`0x${hex}`).toString()
const bytesOf = (text: string) => Buffer.from(`${text}A`, 'base64url')
/** As good as those of the daemon, but for the key. */
const foreign = () => {
  const seals = new Seals(new SecretBox(new Uint8Array(32).fill(9)), [''])
  return [seals.ref({ id: 1, at }, 0), seals.code({ id: 1, at }, 0), seals.cookie({ id: 1, at })]
}

let t: TestApp
let counter = 20
const clock = testClock(at)
const next = (uid: string, path = '/t') => tapPath(tap(derived, { uid }, ++counter), path)
const get = (url: string) => t.app.inject({ url, headers: { 'x-svc-api-key': acmeKey } })
beforeAll(async () => {
  t = await openTestApp({ seed, clock })
})
afterAll(() => t.close())

const redirected = async () => {
  const { headers } = await get(next(uids.jacket))
  return new URL(String(headers.location)).searchParams.get('svcRef') ?? ''
}
const tapIdOf = (ref: string) => t.ctx.seals.openRef(ref)?.tapId ?? 0
const found = async () => (await get(next(uids.twin, '/chips/find'))).json().otp.code as string

test('whoever has the database, or a backup, without the data key has no ref, code, or cookie', async () => {
  const { db } = t.ctx
  const page = await get(next(uids.events))
  const cookie = /=([A-Za-z0-9_-]{21})(;|$)/.exec(String(page.headers['set-cookie']))?.[1] ?? ''
  const refs = [...page.body.matchAll(/(?:svcRef=|data-ref=")([A-Za-z0-9_-]{21})/g)].map(
    ([, ref]) => ref ?? '',
  )
  const [own = '', ...links] = refs
  const answers = await Promise.all([own, ...links].map(async (ref) => (await get(`/refs/${ref}`)).json()))
  const badges = answers.map(({ badgeEvents: [badge] }) => badge.otp as string)
  const guestbooks = answers.map(({ guestbookEvents: [event] }) => event.otp as string)
  const code = await found()
  const redirect = await redirected()
  const minted = await t.app.inject({
    method: 'POST',
    url: '/badge-events/mint',
    headers: { 'x-svc-code': badges[0] ?? '', 'idempotency-key': 'one-mint' },
    payload: { recipient: alice, poapEventId: answers[0].badgeEvents[0].poapEventId },
  })
  expect(minted.statusCode).toBe(200)
  const now = new Date(clock.now()).toISOString()
  await db.write((trx) => spendCode(trx, t.ctx, guestbooks[0] ?? '', now))
  await db.write(async (trx) => {
    await spendCode(trx, t.ctx, code, now)
    await keepSignature(trx, code, 'a signature')
  })
  const deleted = await t.app.inject({
    ...{ method: 'DELETE', url: `/otps/${await found()}`, headers: { 'x-svc-api-key': acmeKey } },
  })
  expect(deleted.statusCode).toBe(200)

  const all = [cookie, redirect, code, ...refs, ...badges, ...guestbooks]
  expect(new Set(all).size).toBe(3 + 3 * refs.length)
  const everything = await storedBytes(t, db)
  // It is searched where it would be found.
  expect(everything.some((stored) => stored.includes(hashCode(code)))).toBe(true)
  for (const stored of everything)
    for (const text of all) {
      const bytes = bytesOf(text)
      // With or without the tag, as bytes and as they may be written.
      for (const part of [bytes.subarray(0, 15), bytes.subarray(0, 8), bytes.subarray(8, 15)])
        for (const form of [part, part.toString('hex'), part.toString('hex').toUpperCase()])
          expect(stored.includes(form)).toBe(false)
      for (const form of [text, bytes.toString('base64').slice(0, 21)])
        expect(stored.includes(form)).toBe(false)
    }
})

test('one that was never made is refused without a question to the database', async () => {
  const { db } = t.ctx
  const { read, slow, write, takeTap, changeFeed } = db
  let asked = 0
  const watched = (queries: Queries) =>
    new Proxy(queries, {
      get(of, name) {
        asked += 1
        const value = Reflect.get(of, name)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
  const count = async (url: string) => {
    // Statements are prepared once for each.
    Object.assign(db, {
      read: watched(read),
      slow: watched(slow),
      ...(changeFeed && { changeFeed: watched(changeFeed) }),
    })
    asked = 0
    const { statusCode } = await get(url)
    return { statusCode, isAsked: asked > 0 }
  }
  const [ref, code] = [await redirected(), await found()]
  Object.assign(db, {
    write: () => Promise.reject(new Error('no')),
    takeTap: () => Promise.reject(new Error('no')),
  })
  try {
    for (const text of ['x'.repeat(21), code, ...foreign()])
      expect(await count(`/refs/${text}`)).toEqual({ statusCode: 404, isAsked: false })
    for (const text of ['x'.repeat(21), ref, ...foreign()])
      expect(await count(`/otps/${text}`)).toEqual({ statusCode: 404, isAsked: false })
    expect(await count(`/otps/${code}`)).toEqual({ statusCode: 200, isAsked: true })
    expect((await count(`/refs/${ref}`)).isAsked).toBe(true)
  } finally {
    Object.assign(db, { read, slow, write, takeTap, ...(changeFeed && { changeFeed }) })
  }
})

test('of a tap that a server lost, one opens no tap that got its ID', async () => {
  const [ref, code] = [await redirected(), await found()]
  expect((await get(`/otps/${code}`)).statusCode).toBe(200)
  await t.ctx.db.write((trx) =>
    trx
      .updateTable('taps')
      .set({ at: at.replace('.123', '.124') })
      .where('id', 'in', [tapIdOf(ref), t.ctx.seals.openCode(code)?.tapId ?? 0])
      .execute(),
  )
  expect((await get(`/refs/${ref}`)).statusCode).toBe(404)
  expect((await get(`/otps/${code}`)).statusCode).toBe(404)
})

test('of a tap that a restore lost, one opens no tap that got its ID; those before it have expired', async () => {
  const { db, box } = t.ctx
  const load = (url: string, cookie?: string) =>
    t.app.inject({ url, ...(cookie !== undefined && { headers: { cookie } }) })
  const [kept, keptCode] = [await redirected(), await found()]
  const url = next(uids.blank)
  const page = await load(url)
  const cookie = String(page.headers['set-cookie']).split(';')[0] ?? ''
  const lost = await redirected()
  expect((await load(url, cookie)).statusCode).toBe(200)
  // Refused taps have IDs as well, once they are stored.
  await t.ctx.tapLog.flush()
  const first = tapIdOf(lost) - 1
  await db.write(async (trx) => {
    await trx.deleteFrom('taps').where('id', '>=', first).execute()
    await endWhatWasOpen(trx, new Date(clock.now()).toISOString())
    // As if other taps had raised the counters since.
    await trx.updateTable('chips').set({ catchesUp: 0 }).execute()
    const counters = { lastCounter: 0, lastTap: null }
    await trx.updateTable('chips').set(counters).where('uid', '=', decimal(uids.blank)).execute()
    if (isPostgres)
      await sql`select setval(pg_get_serial_sequence('taps', 'id'), ${first}, false)`.execute(trx)
  })
  Object.assign(t.ctx, { seals: new Seals(box, await sealEras(db.read)) })
  // The same tap by another browser: even its counter and its time are those of the lost one.
  const anew = await load(url)
  const other = String(anew.headers['set-cookie']).split(';')[0] ?? ''
  const given = await redirected()
  expect(tapIdOf(given)).toBe(first + 1)
  expect((await load(url, cookie)).statusCode).toBe(410)
  expect((await load(url, other)).statusCode).toBe(200)
  expect(given).not.toBe(lost)
  expect((await get(`/refs/${lost}`)).statusCode).toBe(404)
  expect((await get(`/refs/${given}`)).json().isValidRef).toBe(true)
  expect((await get(`/refs/${kept}`)).json()).toMatchObject({ isValidRef: false })
  expect((await get(`/otps/${keptCode}`)).json()).toMatchObject({ isExpired: true })
})

test('two restores of one backup begin two eras, and the last four are known', async () => {
  const { db } = t.ctx
  const undone = new Error('undone')
  const began: string[][] = []
  const restore = (isKept: boolean) =>
    db
      .write(async (trx) => {
        await beginSealEra(trx)
        began.push(await sealEras(trx))
        if (!isKept) throw undone
      })
      .catch((error: unknown) => expect(error).toBe(undone))
  const before = await sealEras(db.read)
  await restore(false)
  await restore(false)
  expect(began[0]?.slice(1)).toEqual(before)
  expect(began[1]?.slice(1)).toEqual(before)
  expect(began[0]?.[0]).not.toBe(began[1]?.[0])
  for (let times = 0; times < 4; times += 1) await restore(true)
  const eras = await sealEras(db.read)
  expect(new Set(eras).size).toBe(4)
  expect(eras).toEqual(
    began
      .slice(-4)
      .map(([era]) => era)
      .reverse(),
  )
})

/** All that the database holds, and a copy of it. */
async function storedBytes({ dataDir }: TestApp, db: Db): Promise<Buffer[]> {
  if (isPostgres) {
    const tables = await db.read.introspection.getTables()
    const rows = await Promise.all(
      tables.map(({ name }) =>
        sql<{ row: string }>`select ${sql.ref(name)}::text as row from ${sql.table(name)}`.execute(db.slow),
      ),
    )
    const texts = rows.flatMap((of) => of.rows.map(({ row }) => Buffer.from(row)))
    expect(texts.length).toBeGreaterThan(50)
    return [Buffer.concat(texts)]
  }
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-test-'))
  try {
    await db.maintenance.backupTo(join(dir, 'copy.db'))
    const files = [join(dir, 'copy.db'), ...readdirSync(dataDir).map((name) => join(dataDir, name))]
    const stored = files.filter((file) => /\.db(-wal|-shm)?$/.test(file))
    expect(stored.length).toBeGreaterThan(2)
    return stored.map((file) => readFileSync(file))
  } finally {
    rmSync(dir, { recursive: true })
  }
}
