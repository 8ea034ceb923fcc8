import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import { type CliHome, cliHome } from './cli.ts'
import { type Running, spawnCli } from './cli-process.ts'
import { adminToken } from './daemon.ts'
import { png } from './poap/image-bytes.ts'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { randomFrom } from './random.ts'
import { acmeKey, derived } from './seeds.ts'

const chips = 300
const maxTries = 40
const uidOf = (n: number, first = '04') => `${first}${n.toString(16).padStart(14 - first.length, '0')}`
const today = new Date().toISOString().slice(0, 10)
const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      chipGroups: [
        {
          name: 'All',
          chips: Array.from({ length: chips }, (_, i) => ({
            uid: uidOf(i + 1).toUpperCase(),
            keySet: 101,
          })),
        },
      ],
    },
  ],
}
interface Kind {
  readonly rows: number
  readonly args: (kill: number) => readonly string[]
  readonly sheet?: (kill: number) => readonly string[]
  /** Makes what the batch is about. @returns more arguments */
  readonly before?: (kill: number, desk: CliHome) => Promise<readonly string[]>
  /** What the other machine needs besides the journal. @returns more arguments of its resume */
  readonly bring?: (from: CliHome, to: CliHome) => readonly string[]
  /** SQL: how many rows stand as the batch wants them. */
  readonly written: (kill: number) => string
  /** SQL: how many changes the daemon has recorded for the batch. */
  readonly recorded: string
}

const audited = (action: string, count = 'count(*)') =>
  `select ${count} from audit where batch = ? and action = '${action}'`
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
export const kinds: Readonly<Record<string, Kind>> = {
  'badge-events create': {
    rows: 30,
    args: () => ['badge-events', 'create', '--file', 'a.csv'],
    sheet: (kill) => [
      'name,startDate,endDate,expiryDate,requestedCodes,image',
      ...numbers(30).map((n) => `Kill ${kill} ${n},${today},${today},${today},1,badge.png`),
    ],
    // The images are read from the files that the sheet names, which the journal does not hold.
    bring: (from, to) => {
      for (const file of ['a.csv', 'badge.png']) copyFileSync(join(from.home, file), join(to.home, file))
      return ['--file', 'a.csv']
    },
    written: (kill) => `select count(*) from "badgeEvents" where name like 'Kill ${kill} %'`,
    recorded: audited('badge-events.create'),
  },
}

const idIn = (stderr: string) => /^Batch (b_[0-9a-z]{14}):/m.exec(stderr)?.[1] ?? ''

/**
 * Kills the machine of a batch, its daemon, or both, so many times, each time amid another batch of the kind: when a
 * row's result was told, or as soon as it was written. Another machine, or the one that is left, finishes it.
 */
export async function killBatches(name: string, kills: number): Promise<void> {
  const kind = kinds[name]
  if (!kind) throw new Error(`There is no kind ${name}`)
  const random = randomFrom(20_261)
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-kills-'))
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const settings = { TAPCHIP_ADMIN_TOKEN: adminToken, TAPCHIP_RATE_LIMIT: 'off', TAPCHIP_DEV_CHAIN: 'off' }
  const start = (port: string, ...more: string[]) =>
    spawnDaemon(['--data-dir', join(dataDir, 'data'), '--port', port, ...more], settings)
  let daemon: DaemonProcess = await start('0', '--seed', seedFile)
  const { port } = new URL(daemon.ready.url)
  const env = { TAPCHIP_URL: daemon.ready.url, TAPCHIP_API_KEY: acmeKey, TAPCHIP_ADMIN_TOKEN: adminToken }
  const db = new Database(join(dataDir, 'data/tapchip.db'), { readonly: true })
  const ask = (sql: string, ...values: string[]) =>
    Number(
      db
        .prepare(sql)
        .pluck()
        .get(...values),
    )
  const homes: CliHome[] = []
  const machine = () => {
    const home = cliHome(env)
    home.env.XDG_STATE_HOME = join(home.home, 'state')
    homes.push(home)
    return home
  }
  try {
    let tries = 0
    for (let kill = 0; kill < kills; tries += 1) {
      expect(tries, 'batches that ended before they could be killed').toBeLessThan(maxTries)
      const run = tries + 1
      const desk = machine()
      const lines = kind.sheet?.(run) ?? []
      writeFileSync(join(desk.home, 'a.csv'), `${lines.join('\n')}\n`)
      writeFileSync(join(desk.home, 'badge.png'), png())
      const args = [...((await kind.before?.(run, desk)) ?? []), ...kind.args(run), '--json']
      const written = () => ask(kind.written(run))
      const running = spawnCli(args, desk.env, desk.home)
      const rows = 1 + Math.floor(random() * kind.rows * 0.6)
      const isThere =
        tries % 2 === 0 ? () => written() >= rows : () => running.stdout().split('\n').length > rows
      const isAmid = await reaches(running, isThere)
      const id = idIn(running.stderr())
      const victim = kill % 3
      if (victim !== 1) running.child.kill('SIGKILL')
      if (victim !== 0) {
        await daemon.kill()
        daemon = await start(port)
      }
      const ended = await running.ended
      const context = `${name} ${id}, kill ${kill}, victim ${victim}`
      // A machine that lives waits for its daemon, and finishes by itself.
      let last = desk
      if (ended !== 'SIGKILL') {
        expect([ended, ended === 0 ? '' : running.stderr()], context).toEqual([0, ''])
        expect(rowsIn(running.stdout()), context).toEqual(numbers(kind.rows))
      } else {
        const other = machine()
        last = other
        const brought = kind.bring?.(desk, other) ?? []
        // Nothing is left of the first machine.
        desk.remove()
        const taken = await other.run('batch', 'resume', id, '--take-over', '--yes', ...brought)
        expect([taken.code, taken.code === 0 ? '' : taken.stderr], context).toEqual([0, ''])
      }
      expect([written(), ask(kind.recorded, id)], context).toEqual([kind.rows, kind.rows])
      // What it told on its output was looked at above.
      if (last !== desk) {
        const status = await last.json('batch', 'status', id)
        const { changed, unchanged, failed } = status as Record<string, number>
        expect([Number(changed) + Number(unchanged), failed], context).toEqual([kind.rows, 0])
        // Whatever a chip was registered by, an earlier run of the same import or this one, it is created.
      }
      if (isAmid) kill += 1
    }
  } finally {
    db.close()
    await daemon.kill()
    for (const home of homes) home.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const rowsIn = (stdout: string): number[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).row)

/** @returns false if it ended before */
async function reaches({ child, stderr }: Running, isThere: () => boolean): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    if (idIn(stderr()) !== '' && isThere()) return true
    await sleep(1)
  }
  return false
}
