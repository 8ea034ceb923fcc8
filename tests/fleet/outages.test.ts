import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres } from '../../scripts/postgres-server.mjs'
import { storeFailure } from '../../src/daemon/domain/errors/errors.ts'
import { DatabaseUnavailable, type Db } from '../../src/daemon/store/database/database.ts'
import { openPostgres } from '../../src/daemon/store/database/open.ts'
import { setSetting, setting } from '../../src/daemon/store/database/settings.ts'
import { trackRequests, WaitBudget, withWaitBudget } from '../../src/daemon/store/database/wait-budget.ts'
import { databaseOf, dropDatabaseOf, onServer } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const dir = `outages-${process.pid}`
let base: URL
let proxy: TcpProxy
let db: Db
/** Straight to the server. */
let direct: Db

const via = (...ports: number[]) => {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
  return `postgres://${base.username}@${hosts}${base.pathname}`
}

beforeAll(async () => {
  const { TAPCHIP_DATABASE_URL: url = '' } = await databaseOf(dir)
  base = new URL(url)
  proxy = await startTcpProxy(Number(base.port))
  db = await openPostgres(via(proxy.port), undefined, { everyMs: 50, answerMs: 400 })
  direct = await openPostgres(url)
  await direct.write((trx) => sql`create table counts (name text primary key, n integer)`.execute(trx))
})

afterEach(() => {
  proxy.judge = () => 'pass'
  proxy.isSilent = false
})

afterAll(async () => {
  await Promise.all([db.close(), direct.close()])
  await proxy.close()
  await dropDatabaseOf(dir)
})

const add = (name: string) =>
  sql`insert into counts values (${name}, 1) on conflict (name) do update set n = counts.n + 1`
const count = async (name: string) =>
  (await sql<{ n: number }>`select n from counts where name = ${name}`.execute(direct.read)).rows[0]?.n ?? 0
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )
/** Once, for what has the words in it. */
const onceAt = (words: string, verdict: Awaited<ReturnType<TcpProxy['judge']>>) => {
  let isDone = false
  proxy.judge = (bytes) => {
    if (isDone || !bytes.includes(words)) return 'pass'
    isDone = true
    return verdict
  }
}

describe('a connection that is lost', () => {
  test('before COMMIT: the write is done again, and counts once', async () => {
    let runs = 0
    onceAt('insert into counts', 'cut')
    await db.write(async (trx) => {
      runs += 1
      await add('before').execute(trx)
    })
    expect([runs, await count('before')]).toEqual([2, 1])
  })

  test('after COMMIT was sent: nobody does it again, and the caller is told that it may have been done', async () => {
    let runs = 0
    onceAt('commit', 'last')
    const error = await failureOf(
      db.write(async (trx) => {
        runs += 1
        await add('after').execute(trx)
      }),
    )
    expect(error).toMatchObject({ name: 'DatabaseUnavailable', isOutcomeUnknown: true })
    expect([runs, await count('after')]).toEqual([1, 1])
  })

  test('before COMMIT was sent, and the driver knows it: the write is done again, and counts once', async () => {
    let runs = 0
    await db.write(async (trx) => {
      runs += 1
      await add('unsent').execute(trx)
      if (runs > 1) return
      proxy.cut()
      await failureOf(sql`select 1`.execute(trx))
    })
    expect([runs, await count('unsent')]).toEqual([2, 1])
  })

  test('under one statement: a question is asked again, and what writes is not', async () => {
    onceAt('select n from counts', 'last')
    await sql`with asked as (select n from counts) select n from asked`.execute(db.read)
    onceAt('select n from counts', 'last')
    await sql`select n from counts`.execute(db.read)
    onceAt('insert into counts', 'last')
    const error = await failureOf(add('statement').execute(db.read))
    expect(error).toMatchObject({ isOutcomeUnknown: true })
    expect(await count('statement')).toBe(1)
    onceAt('insert into counts', 'cut')
    expect(await failureOf(add('never').execute(db.read))).toMatchObject({ isOutcomeUnknown: true })
  })
})

test('a server that does not know whether it committed is taken at its word', async () => {
  await direct.write(async (trx) => {
    await sql`create function unsure() returns trigger language plpgsql as
      $$ begin raise exception 'unsure' using errcode = '40003'; end $$`.execute(trx)
    await sql`create table doubts (n integer)`.execute(trx)
    await sql`create constraint trigger unsure after insert on doubts
      deferrable initially deferred for each row execute function unsure()`.execute(trx)
  })
  let runs = 0
  const doubted = db.write(async (trx) => {
    runs += 1
    await sql`insert into doubts values (1)`.execute(trx)
  })
  await expect(doubted).rejects.toMatchObject({ isOutcomeUnknown: true })
  expect(runs).toBe(1)
})

describe('a write job', () => {
  test('leaves nothing behind if its BEGIN fails', async () => {
    // As long as the word, so that the message stays whole.
    proxy.judge = (bytes) => {
      const at = bytes.indexOf('begin isolation')
      if (at < 0) return 'pass'
      const spoiled = Buffer.from(bytes)
      spoiled.write('bogus', at)
      proxy.judge = () => 'pass'
      return spoiled
    }
    await db.write(async (trx) => {
      await add('unbegun').execute(trx)
    })
    expect(await count('unbegun')).toBe(1)
  })

  test('is not said to be done if one of its queries failed and it went on', async () => {
    const job = db.write(async (trx) => {
      await add('swallowed').execute(trx)
      await sql`select 1 / 0`.execute(trx).catch(() => undefined)
    })
    await expect(job).rejects.toThrow('nothing of it was kept')
    expect(await count('swallowed')).toBe(0)
  })

  test('cannot reach into the one after it', async () => {
    let late: () => Promise<unknown> = async () => undefined
    await db.write(async (trx) => {
      await add('first').execute(trx)
      late = () => add('late').execute(trx)
    })
    await expect(late()).rejects.toThrow('after its end')
    const failed = db.write(async (trx) => {
      await Promise.all([
        Promise.reject(new Error('given up')),
        add('late')
          .execute(trx)
          .then(() => add('late').execute(trx))
          .catch(() => undefined),
      ])
    })
    await expect(failed).rejects.toThrow('given up')
    await db.write((trx) => add('first').execute(trx))
    expect([await count('first'), await count('late')]).toEqual([2, 0])
  })

  test('that commits at the same time as nine others is counted like them', async () => {
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        (at % 2 ? db : direct).write(async (trx) => {
          const { rows } = await sql<{ n: number }>`select n from counts where name = 'ten'`.execute(trx)
          const n = (rows[0]?.n ?? 0) + 1
          await sql`insert into counts values ('ten', ${n}) on conflict (name) do update set n = ${n}`.execute(
            trx,
          )
        }),
      ),
    )
    expect(await count('ten')).toBe(10)
  })
})

test('a database that a later version adds columns to, or a pooler that forgets, costs no answer', async () => {
  const all = () => sql`select * from counts`.execute(db.slow)
  for (let times = 0; times < 4; times += 1) await all()
  await direct.write((trx) => sql`alter table counts add column later integer`.execute(trx))
  await all()
  for (let times = 0; times < 4; times += 1) await all()
  await sql`deallocate all`.execute(db.slow)
  await all()
})

test('a server that crashes loses nothing that was answered, and is back without a hand', async () => {
  const server = await startPostgres({ durable: true })
  try {
    const own = `${server.url}/postgres`
    const crashed = await openPostgres(own)
    await sql`create table counts (name text primary key, n integer)`.execute(crashed.read)
    let done = 0
    let unknown = 0
    const work = Array.from({ length: 20 }, async (_, at) => {
      for (let times = 0; times < 10; times += 1) {
        const failed = await failureOf(crashed.write((trx) => add(`crash${at}`).execute(trx)))
        if (failed === undefined) done += 1
        else if (failed instanceof DatabaseUnavailable && failed.isOutcomeUnknown) unknown += 1
        else throw failed
        if (at !== 0 || times !== 3) continue
        // The loss of one backend makes the server end all of them.
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(crashed.read)
        process.kill(rows[0]?.pid ?? 0, 'SIGKILL')
      }
    })
    await Promise.all(work)
    const { rows } = await sql<{ n: number }>`select sum(n) as n from counts`.execute(crashed.read)
    expect(done + unknown).toBe(200)
    expect(rows[0]?.n).toBeGreaterThanOrEqual(done)
    expect(rows[0]?.n).toBeLessThanOrEqual(done + unknown)
    await crashed.close()
  } finally {
    await server.stop()
  }
})

test('a server whose disk is full refuses at once, and is named', async () => {
  let tries = 0
  const full = db.write(async (trx) => {
    tries += 1
    await sql`do $$ begin raise exception 'no space' using errcode = '53100'; end $$`.execute(trx)
  })
  const failure = storeFailure(await full.catch((error: unknown) => error))
  expect([failure?.code, failure?.message, tries]).toEqual([
    'store_full',
    expect.stringContaining('disk of the database server is full'),
    1,
  ])
})

test('what a read is told of a lost server speaks of no write', () => {
  expect(storeFailure(new DatabaseUnavailable(new Error('gone')))?.message).toBe(
    'The database cannot be used right now. Nothing was changed; try again.',
  )
})

test('where the server has no room for more connections, the open ones serve everything', async () => {
  const server = await startPostgres({ settings: { max_connections: 8, superuser_reserved_connections: 0 } })
  const full = await openPostgres(`${server.url}/postgres`, undefined, { everyMs: 10, answerMs: 400 })
  const others: Client[] = []
  try {
    const work = [
      () => sql`select 1`.execute(full.read),
      () => full.write((trx) => sql`select 1`.execute(trx)),
      () => sql`select 1`.execute(full.slow),
    ]
    await Promise.all(work.slice(0, 2).map((ask) => ask()))
    for (let isOpen = true; isOpen; ) {
      const client = new Client({ connectionString: `${server.url}/postgres` })
      client.on('error', () => undefined)
      isOpen = await client.connect().then(
        () => true,
        () => false,
      )
      if (isOpen) others.push(client)
    }
    expect(others.length).toBeGreaterThan(2)
    // The slow ones have had no connection yet.
    for (let times = 0; times < 100; times += 1) await work[times % 3]?.()
  } finally {
    for (const client of others) await client.end()
    await full.close()
    await server.stop()
  }
})

test('a row that somebody holds keeps those who want it for seconds, and nobody else', async () => {
  await direct.write((trx) => add('held').execute(trx))
  const holder = new Client({ connectionString: base.href })
  await holder.connect()
  await holder.query(`begin; update counts set n = n + 1 where name = 'held'`)
  const wanting = Array.from({ length: 12 }, () => failureOf(db.write((trx) => add('held').execute(trx))))
  const tap = {
    at: new Date().toISOString(),
    counter: 1,
    outcome: 'valid',
    via: 'find',
    tamper: null,
    fileData: null,
  } as const
  const gives = { refsUntil: null, pageUntil: null, links: null, codes: null }
  const seen = {
    ...{
      uid: '1',
      teamId: 1,
      keySetId: null,
      tokenRow: null,
      generation: 0,
      redirectUrl: null,
      itemId: null,
    },
    ...{ disabledAt: null, catchesUp: 0, tamper: null, claimRound: 0, haloForm: null },
  }
  await db.takeTap({ seen, events: null, haloForm: null, tap: { ...tap, ...gives }, messages: [] })
  const errors = await Promise.all(wanting)
  await holder.end()
  for (const error of errors) expect(error).toBeInstanceOf(DatabaseUnavailable)
  await db.write((trx) => add('held').execute(trx))
  expect(await count('held')).toBe(2)
})

test('a server that falls silent is given up within seconds, those who wait are bounded, and it is taken up again', async () => {
  await setSetting(direct.read, 'silence', 'heard')
  expect(await setting(db.read, 'silence')).toBe('heard')
  proxy.isSilent = true
  const waiting = Array.from({ length: 1500 }, () => failureOf(setting(db.read, 'silence')))
  const errors = await Promise.all(waiting)
  for (const error of errors) expect(error).toBeInstanceOf(DatabaseUnavailable)
  const refused = errors.filter((error) => error instanceof DatabaseUnavailable && error.isRefused)
  expect(refused.length).toBeGreaterThanOrEqual(500)
  proxy.isSilent = false
  expect(await setting(db.read, 'silence')).toBe('heard')
})

test('a request waits five seconds in all: a step after the one that used them up ends before that of another request', async () => {
  trackRequests()
  proxy.isSilent = true
  const patience = new WaitBudget()
  const readBy = (by: WaitBudget) =>
    new Promise<unknown>((resolve) =>
      withWaitBudget(by, () => resolve(failureOf(setting(db.read, 'silence')))),
    )
  expect(await readBy(patience)).toBeInstanceOf(DatabaseUnavailable)
  const order: string[] = []
  await Promise.all([
    readBy(new WaitBudget()).then(() => order.push('fresh')),
    readBy(patience).then(() => order.push('spent')),
  ])
  expect(order).toEqual(['spent', 'fresh'])
})

test('of several hosts the one that accepts writes is used, and found again where it went', async () => {
  const standby = await startPostgres({ settings: { default_transaction_read_only: 'on' } })
  const make = async (client: Client) => {
    await client.query('set session characteristics as transaction read write')
    await client.query(`create database ${base.pathname.slice(1)}`)
  }
  await onServer(make, 'postgres', standby.url)
  const before = await startTcpProxy(Number(base.port))
  const after = await startTcpProxy(Number(base.port))
  const { port: later } = after
  await after.close()
  const several = await openPostgres(via(later, standby.port, before.port))
  try {
    await several.write((trx) => add('moved').execute(trx))
    await before.close()
    const moving = several.write((trx) => add('moved').execute(trx))
    const there = await startTcpProxy(Number(base.port), later)
    await moving
    expect(await count('moved')).toBe(2)
    await several.close()
    await there.close()
  } finally {
    await standby.stop()
  }
})
