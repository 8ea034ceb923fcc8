import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { afterAll, afterEach, expect, test } from 'vitest'
import { migratePostgres } from '../../src/daemon/store/database/open.ts'
import { postgresMigrations } from '../../src/daemon/store/postgres/migrator.ts'
import { adminToken, openTestApp, startTestDaemon } from '../support/daemon.ts'
import { callOn, startFleet, untilItHolds } from '../support/fleet.ts'
import { onServer, server, testDataKey } from '../support/postgres.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const empty = `migrations_${process.pid}`
const dir = mkdtempSync(join(tmpdir(), 'tapchip-migrations-'))
const next = '9998-next'
const afterNext = '9999-after-next'

afterEach(() => {
  delete postgresMigrations[next]
  delete postgresMigrations[afterNext]
})
afterAll(async () => {
  rmSync(dir, { recursive: true, force: true })
  await onServer((client) => client.query(`drop database if exists ${empty} with (force)`))
})

/** What a version after this one may do: tables have more columns, and there is another table. */
const expand = (tables: readonly string[]) => async (db: Kysely<unknown>) => {
  for (const name of tables) {
    const note = sql.ref(`note${tables.length}`)
    const count = sql.ref(`count${tables.length}`)
    await sql`alter table ${sql.table(name)} add column ${note} text, add column ${count} bigint not null default 7`.execute(
      db,
    )
  }
  await sql`create table ${sql.table(`next${tables.length}`)} (id bigint primary key)`.execute(db)
}
const used = ['transactions', 'chipGroups', 'chips', 'taps']

test('ten daemons start on an empty database at once: one migrates it, and all serve', async () => {
  await onServer((client) => client.query(`create database ${empty}`))
  const env = { TAPCHIP_DATABASE_URL: `${server}/${empty}`, TAPCHIP_DATA_KEY: testDataKey }
  const apps = await Promise.all(
    Array.from({ length: 10 }, (_, n) => openTestApp({ env, dataDir: join(dir, `ten-${n}`) })),
  )
  try {
    const made = await Promise.all(
      apps.map(({ app, admin }, n) =>
        app.inject({ method: 'POST', url: '/admin/teams', headers: admin, payload: { name: `Team ${n}` } }),
      ),
    )
    expect(made.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(200))
    expect(new Set(apps.map(({ ctx }) => ctx.instance)).size).toBe(1)
    const { rows } = await onServer((client) => client.query('select name from kysely_migration'), empty)
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(postgresMigrations).sort())
  } finally {
    await Promise.all(apps.map(({ close }) => close()))
  }
})

test('a daemon of the version before serves on beside one of the next, which migrates under its load', async () => {
  const fleet = await startFleet({ seed }, 1)
  const [old] = fleet.daemons
  if (!old) throw new Error('no daemon')
  let counter = 0
  const open = async (url: string) => {
    counter += 1
    const { status } = await callOn(url)(
      `GET ${tapPath(tap(derived, { uid: uids.jacket }, counter))}`,
      undefined,
      {},
    )
    return status
  }
  const edit = async (url: string, redirectUrl: string) => {
    const change = { tagUIDs: [uids.jacket], updates: { redirectUrl } }
    return (await callOn(url)('PATCH /chips', change, { 'x-svc-api-key': acmeKey })).status
  }
  const importAt = async (url: string, uid: string) => {
    const response = await fetch(`${url}/admin/chips/import?team=Acme&chipGroup=New&keySet=101`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'text/csv' },
      body: `uid\n${uid}\n`,
    })
    return (await response.text()).includes('"created"')
  }
  let isOver = false
  const answers = new Map<string, number>()
  const load = (what: string, ask: (n: number) => Promise<unknown>) =>
    (async () => {
      for (let n = 0; !isOver; n += 1) {
        const answer = `${what} ${await ask(n)}`
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      }
    })()
  const loads = [
    load('tap', () => open(old.url)),
    load('edit', (n) => edit(old.url, `https://acme.example/${n}`)),
    load('list', async () => (await old.call('GET /admin/taps')).status),
    load('team', async (n) => (await old.call('POST /admin/teams', { name: `T${n}` })).status),
  ]
  postgresMigrations[next] = { up: expand(used) }
  const young = await startTestDaemon({ env: fleet.env, dataDir: join(dir, 'young') })
  try {
    const seen = () => [...answers.values()].reduce((sum, count) => sum + count, 0)
    const before = seen()
    await untilItHolds(async () => expect(seen()).toBeGreaterThan(before + 20))
    isOver = true
    await Promise.all(loads)
    expect([...answers.keys()].sort()).toEqual(['edit 200', 'list 200', 'tap 302', 'team 200'])
    const all = await sql<{
      name: string
    }>`select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`.execute(
      old.ctx.db.read,
    )
    postgresMigrations[afterNext] = { up: expand(all.rows.map(({ name }) => name)) }
    await migratePostgres(fleet.env.TAPCHIP_DATABASE_URL ?? '')
    for (const [n, url] of [old.url, young.url, old.url].entries()) {
      expect([await open(url), await edit(url, `https://acme.example/at/${n}`)]).toEqual([302, 200])
      expect(await importAt(url, `04DE5F1EACC9${n}0`)).toBe(true)
      for (const { call } of [old, { call: callOn(young.url) }])
        expect((await call(`GET /admin/chips/${uids.jacket}`)).body.redirectUrl).toBe(
          `https://acme.example/at/${n}`,
        )
    }
    // Only what runs already goes on.
    delete postgresMigrations[afterNext]
    const again = openTestApp({ env: fleet.env, dataDir: join(dir, 'again') })
    await expect(again).rejects.toThrow(
      /has the schema 9999-after-next, which is newer.*start that version here too/,
    )
  } finally {
    isOver = true
    await young.stop()
    await Promise.allSettled(loads)
    await fleet.stop()
  }
})

test('a migration that waits for a table lets those go first who wait behind it', async () => {
  const fleet = await startFleet({ seed }, 1)
  const [old] = fleet.daemons
  const url = fleet.env.TAPCHIP_DATABASE_URL ?? ''
  const name = new URL(url).pathname.slice(1)
  try {
    await onServer(async (dump) => {
      await dump.query('begin; lock table chips in access share mode')
      postgresMigrations[next] = { up: expand(used) }
      let isDone = false
      const migrated = migratePostgres(url).then(() => {
        isDone = true
      })
      const isWaiting = async () => {
        const waits = `select 1 from pg_stat_activity where datname = $1 and wait_event_type = 'Lock' and query like 'alter%'`
        expect((await onServer((client) => client.query(waits, [name]))).rowCount).toBe(1)
      }
      await untilItHolds(isWaiting)
      const { status } =
        (await old?.call(`GET ${tapPath(tap(derived, { uid: uids.jacket }, 1))}`, undefined, {})) ?? {}
      expect([status, isDone]).toEqual([302, false])
      await dump.query('rollback')
      await migrated
    }, name)
    expect((await old?.call('GET /admin/teams'))?.status).toBe(200)
  } finally {
    await fleet.stop()
  }
})

test('an entry of the migration that a trigger removes is missed', async () => {
  const fleet = await startFleet({ seed }, 1)
  const name = new URL(fleet.env.TAPCHIP_DATABASE_URL ?? '').pathname.slice(1)
  try {
    await fleet.daemons[0]?.stop()
    await onServer(
      (client) =>
        client.query(`create table saved as select * from "auditHead";
          create function again() returns trigger language plpgsql as $$ begin
            delete from audit where action = 'daemon.migrate';
            delete from "auditHead";
            insert into "auditHead" select * from saved;
            return new;
          end $$;
          create trigger again after insert on kysely_migration for each row execute function again()`),
      name,
    )
    postgresMigrations[next] = { up: expand(used) }
    const { app, admin, close } = await openTestApp({ env: fleet.env, dataDir: join(dir, 'again') })
    try {
      const { audit } = (await app.inject({ url: '/admin/status', headers: admin })).json()
      expect(audit.broken.expected).toBe(audit.broken.lastId + 1)
    } finally {
      await close()
    }
  } finally {
    await fleet.stop()
  }
})
