import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { type Address, createPublicClient, http, parseAbi } from 'viem'
import { expect } from 'vitest'
import { endAnvilOf } from './anvil-of.ts'
import { type CliHome, cliHome } from './cli.ts'
import { type Running, spawnCli } from './cli-process.ts'
import { adminToken } from './daemon.ts'
import { png } from './poap/image-bytes.ts'
import { type DaemonProcess, spawnDaemon } from './process.ts'
import { randomFrom } from './random.ts'
import { acmeKey, derived } from './seeds.ts'

const chips = 300
const tokens = 120
const items = 60
const events = 40
const uidOf = (n: number, first = '04') => `${first}${n.toString(16).padStart(14 - first.length, '0')}`
const today = new Date().toISOString().slice(0, 10)
const day = { startDate: today, endDate: today, expiryDate: today, requestedCodes: 1 }
const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      items: Array.from({ length: items }, (_, i) => ({ id: `item-${i}`, name: 'Item' })),
      badgeEvents: Array.from({ length: events }, (_, i) => ({ name: `Event ${i + 1}`, ...day, chips: [] })),
      chipGroups: [
        {
          name: 'All',
          chips: Array.from({ length: chips }, (_, i) => ({
            uid: uidOf(i + 1).toUpperCase(),
            keySet: 101,
            ...(i < tokens ? { token: { contract: 'JKT', tokenId: `${i + 1}`, owner: ownerOf(0) } } : {}),
          })),
        },
      ],
    },
  ],
}
function ownerOf(kill: number): Address {
  return `0x${(kill + 0xbeef0000).toString(16).padStart(40, '0')}`
}

interface Kind {
  readonly rows: number
  /** Whether it needs the embedded chain. */
  readonly chain?: true
  /** Its lines come once it is done, so that it can be killed only between sending and results. */
  readonly untold?: true
  readonly args: (kill: number) => readonly string[]
  readonly sheet?: (kill: number, contract: string) => readonly string[]
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
const inGroup = (name: string) =>
  `select count(*) from chips join "chipGroups" g on g.id = "chipGroupId" where g.name = '${name}'`
const described = (name: string) => ({
  name,
  collection: 'Jackets',
  description: '',
  image: '',
  attributes: [],
  media_gallery: [],
})
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
/** In three pieces. */
const paced = (rows: number) => ['--rate', `${(rows / 3) * 4}`]
const imported = async (kill: number, desk: CliHome, rows: number) => {
  writeFileSync(
    join(desk.home, 'new.csv'),
    `uid\n${numbers(rows)
      .map((n) => uidOf(kill * 1000 + n, '04bb'))
      .join('\n')}\n`,
  )
  const ran = await desk.run(
    ...['chips', 'import', '--file', 'new.csv', '--chip-group', `Old ${kill}`, '--key-set', '101'],
  )
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
  return idIn(ran.stderr)
}

export const kinds: Readonly<Record<string, Kind>> = {
  'chips edit': {
    rows: chips,
    args: () => ['chips', 'edit', '--file', 'a.csv', ...paced(chips)],
    sheet: (kill) => [
      'uid,redirectUrl',
      ...numbers(chips).map((n) => `${uidOf(n)},https://example.com/${kill}/${n}`),
    ],
    written: (kill) => `select count(*) from chips where "redirectUrl" like 'https://example.com/${kill}/%'`,
    recorded: audited('chips.batch', "sum(json_extract(detail, '$.changed'))"),
  },
  'chips import': {
    rows: 6000,
    untold: true,
    args: (kill) => ['chips', 'import', '--file', 'a.csv', '--chip-group', `New ${kill}`, '--key-set', '101'],
    sheet: (kill) => ['uid', ...numbers(6000).map((n) => uidOf(kill * 10_000 + n, '04aa'))],
    written: (kill) => inGroup(`New ${kill}`),
    recorded: 'select count(*) from chips where "importBatch" = ?',
  },
  // The daemon answers after each 50,000 rows.
  large: {
    rows: 110_000,
    args: (kill) => ['chips', 'import', '--file', 'a.csv', '--chip-group', `New ${kill}`, '--key-set', '101'],
    sheet: (kill) => ['uid', ...numbers(110_000).map((n) => uidOf(kill * 1_000_000 + n, '04aa'))],
    written: (kill) => inGroup(`New ${kill}`),
    recorded: 'select count(*) from chips where "importBatch" = ?',
  },
  'chips import undo': {
    rows: 1000,
    args: () => ['--yes'],
    before: async (kill, desk) => ['batch', 'undo', await imported(kill, desk, 1000)],
    written: (kill) => `select 1000 - (${inGroup(`Old ${kill}`)})`,
    recorded: audited('chips.undo-import', "sum(json_array_length(detail, '$.uids'))"),
  },
  'chips apply': {
    rows: 240,
    chain: true,
    args: () => ['chips', 'apply', '--file', 'a.csv', ...paced(240)],
    sheet: (kill, contract) => [
      'uid,chipGroup,keySet,contractAddress,chainId,tokenId,disabled',
      ...numbers(80).map((n) => `${uidOf(kill * 1000 + n, '04cc')},To ${kill},101,,,,`),
      ...numbers(160).map(
        (n) => `${uidOf(n)},To ${kill},101,${contract},31337,${1 + ((n + kill) % tokens)},${kill % 2 === 0}`,
      ),
    ],
    written: (kill) => inGroup(`To ${kill}`),
    recorded: audited(
      'chips.apply',
      "sum(json_extract(detail, '$.created') + json_extract(detail, '$.changed'))",
    ),
  },
  'chips remove': {
    rows: 240,
    before: async (kill, desk) => {
      await imported(kill, desk, 240)
      return ['chips', 'remove', '--chip-group', `Old ${kill}`]
    },
    args: () => ['--yes', ...paced(240)],
    written: (kill) => `select 240 - (${inGroup(`Old ${kill}`)})`,
    recorded: audited('chips.apply', "sum(json_extract(detail, '$.removed'))"),
  },
  'items edit': {
    rows: items,
    args: () => ['items', 'edit', '--file', 'a.csv'],
    sheet: (kill) => ['id,name', ...numbers(items).map((n) => `item-${n - 1},Kill ${kill} ${n}`)],
    written: (kill) => `select count(*) from items where name like 'Kill ${kill} %'`,
    recorded: audited('items.edit'),
  },
  'phygitals metadata': {
    rows: tokens,
    chain: true,
    args: () => ['phygitals', 'metadata', '--file', 'a.csv', ...paced(tokens)],
    sheet: (kill) => [
      'uid,metadata',
      ...numbers(tokens).map(
        (n) => `${uidOf(n)},"${JSON.stringify(described(`Kill ${kill} ${n}`)).replaceAll('"', '""')}"`,
      ),
    ],
    written: (kill) => `select count(*) from tokens where metadata like '%"Kill ${kill} %'`,
    recorded: audited('phygitals.metadata'),
  },
  'phygitals transfer': {
    rows: tokens,
    chain: true,
    args: () => ['phygitals', 'transfer', '--file', 'a.csv', '--yes', ...paced(tokens)],
    sheet: (kill, contract) => [
      'contractAddress,chainId,tokenId,recipient',
      ...numbers(tokens).map((n) => `${contract},31337,${n},${ownerOf(kill)}`),
    ],
    written: (kill) =>
      `select count(*) from transactions where kind = 'phygital-transfer' and lower(subject) like '%${ownerOf(kill)}%'`,
    recorded: audited('phygitals.transfer'),
  },
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
  'badge-events assign': {
    rows: items,
    args: () => ['badge-events', 'assign', '--file', 'a.csv'],
    sheet: (kill) => ['uid,badgeEventId', ...numbers(items).map((n) => `${uidOf(n)},${kill + 1}`)],
    written: (kill) => `select count(*) from "badgeAssignments" where "badgeEventId" = ${kill + 1}`,
    recorded: audited('badge-events.assign'),
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
  const chain = kind.chain ? {} : { TAPCHIP_DEV_CHAIN: 'off' }
  const settings = { TAPCHIP_ADMIN_TOKEN: adminToken, TAPCHIP_RATE_LIMIT: 'off', ...chain }
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
  const contract = String(db.prepare('select address from contracts').pluck().get())
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
      expect(tries, 'batches that ended before they could be killed').toBeLessThan(events - 1)
      const run = tries + 1
      const desk = machine()
      const lines = kind.sheet?.(run, contract) ?? []
      writeFileSync(join(desk.home, 'a.csv'), `${lines.join('\n')}\n`)
      writeFileSync(join(desk.home, 'badge.png'), png())
      const args = [...((await kind.before?.(run, desk)) ?? []), ...kind.args(run), '--json']
      const written = () => ask(kind.written(run))
      const running = spawnCli(args, desk.env, desk.home)
      const rows = 1 + Math.floor(random() * kind.rows * 0.6)
      const isThere =
        kind.untold || tries % 2 === 0
          ? () => written() >= rows
          : () => running.stdout().split('\n').length > rows
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
        if (name === 'chips import' || name === 'large') expect(unchanged, context).toBe(0)
      }
      if (name === 'phygitals transfer') await expect.poll(() => held(daemon, contract, run)).toBe(kind.rows)
      if (isAmid) kill += 1
    }
  } finally {
    db.close()
    await daemon.kill()
    for (const home of homes) home.remove()
    endAnvilOf(join(dataDir, 'data'))
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

const abi = parseAbi(['function balanceOf(address) view returns (uint256)'])
const held = async (daemon: DaemonProcess, contract: string, kill: number): Promise<number> => {
  const client = createPublicClient({ transport: http(daemon.ready.chains['31337']) })
  const call = {
    address: contract as Address,
    abi,
    functionName: 'balanceOf',
    args: [ownerOf(kill)],
  } as const
  return Number(await client.readContract(call))
}
