import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { openPostgres } from '../../src/daemon/store/database/open.ts'
import { untilItRests } from '../support/batch-crashes.ts'
import { adminToken } from '../support/daemon.ts'
import { checkBatch } from '../support/daemon-batch-kills.ts'
import { type KilledKind, killedKinds, prepareRun, seed, uploadBatch } from '../support/daemon-batch-kinds.ts'
import { callOn } from '../support/fleet.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { randomFrom } from '../support/random.ts'

// TAPCHIP_KILLS=30 is the whole drill.
const kills = Number(process.env.TAPCHIP_KILLS ?? 2)
const random = randomFrom(20_262)
const kinds: Record<string, KilledKind> = killedKinds
let directory: string
let env: Record<string, string>
let db: Db
/** The first one has the turn. */
let daemons: DaemonProcess[] = []
let started = 0
let run = 0

async function start(...args: string[]): Promise<DaemonProcess> {
  started += 1
  const dataDir = join(directory, `${started}`)
  return spawnDaemon(['--data-dir', dataDir, '--port', '0', '--log-level', 'error', ...args], env)
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tapchip-fleet-batch-kills-'))
  writeFileSync(join(directory, 'seed.json'), JSON.stringify(seed))
  env = {
    ...(await databaseOf(directory)),
    TAPCHIP_ADMIN_TOKEN: adminToken,
    TAPCHIP_RATE_LIMIT: 'off',
    TAPCHIP_DEV_CHAIN: 'off',
  }
  db = await openPostgres(env.TAPCHIP_DATABASE_URL ?? '')
  daemons = [await start('--seed', join(directory, 'seed.json'))]
  daemons.push(await start())
})
afterAll(async () => {
  for (const daemon of daemons) await daemon.kill()
  await db.close()
  await dropDatabaseOf(directory)
  rmSync(directory, { recursive: true, force: true })
})

const ask = async (text: string): Promise<number> => {
  const { rows } = await sql.raw<{ n: number }>(`select (${text}) as n`).execute(db.read)
  return Number(rows[0]?.n)
}

/** As an uploader has them. */
function linesOf(kind: KilledKind): readonly object[] {
  const { lines, sheet = [] } = kind.batch(run, '')
  const [columns = [], ...rows] = sheet.map((line) => line.split(','))
  return lines ?? rows.map((cells) => Object.fromEntries(columns.map((column, n) => [column, cells[n]])))
}

/** @returns whether the daemon was killed amid the rows */
async function killOne(name: string, kind: KilledKind): Promise<boolean> {
  run += 1
  const [runs, other] = daemons
  if (!runs || !other) throw new Error('There are no two daemons')
  const call = callOn(other.ready.url)
  await prepareRun(other.ready.url, kind, run, (id) => untilItRests(call, id))
  // Slowly enough that it is seen amid its rows.
  const id = await uploadBatch(other.ready.url, name, linesOf(kind), { isAdmin: true, rate: 100 })
  const rows = 1 + Math.floor(random() * kind.rows * 0.7)
  const done = () => ask(`select changed + unchanged + failed + conflict from batches where id = '${id}'`)
  while ((await done()) < rows) await sleep(1)
  await runs.kill()
  const reached = await done()
  daemons = [other, await start()]
  const context = `${name}, run ${run}, ${id}: killed the one that ran it at ${reached} rows, wanted ${rows}`
  await checkBatch(call, id, { rows: kind.rows, written: () => ask(kind.written(run)), context })
  return reached < kind.rows
}

test.each(['chips apply', 'items apply', 'badge-events create'])(
  `${kills} kills of the daemon that runs %s: the other one goes on, each row once`,
  async (name) => {
    const kind = kinds[name]
    if (!kind) throw new Error(`There is no kind ${name}`)
    const most = run + kills * 3 + 5
    for (let killed = 0; killed < kills; ) {
      expect(run, 'runs, of which too many ended before they could be killed').toBeLessThan(most)
      if (await killOne(name, kind)) killed += 1
    }
  },
  120_000 + kills * 30_000,
)
