import { Writable } from 'node:stream'
import { beforeAll, describe, expect, test } from 'vitest'
import { createIo } from '../../src/cli/io/io.ts'
import { csvPieces } from '../../src/cli/io/lists.ts'
import { barPlot, columnPlot } from '../../src/cli/io/plot.ts'
import { bar, plotArea, sparkline } from '../../src/cli/io/text.ts'
import { countTaps } from '../../src/daemon/domain/taps/tap-stats.ts'
import { parseUid } from '../../src/nfc/uid.ts'
import { type CliHome, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

let here: CliHome
let daemon: TestDaemon
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

type Outcome = 'valid' | 'replayed' | 'unknown-chip'
const decimal = (hex: string) => {
  const parsed = parseUid(hex)
  return parsed.ok ? parsed.uid : ''
}
const tap = (at: string, chip: string | null, outcome: Outcome = 'valid') => ({
  at: `2026-03-${at}:00.000Z`,
  chipUid: chip === null ? null : decimal(chip),
  teamId: chip === null ? null : 1,
  keySetId: 101,
  counter: 1,
  outcome,
  via: 'page' as const,
})
const taps = [
  tap('28T21:10', uids.jacket),
  tap('28T21:50', uids.jacket),
  tap('28T23:30', uids.jacket, 'replayed'),
  tap('29T01:00', uids.unminted),
  // Stored a moment late.
  tap('28T23:59', null, 'unknown-chip'),
]

const stats = async (...args: string[]) => here.run('taps', 'stats', ...args)
const rows = async (...args: string[]) => (await stats(...args, '--json')).json() as Record<string, unknown>[]
const span = ['--since', '2026-03-28T20:00Z', '--until', '2026-03-29T02:00Z']

describe('before the first tap', () => {
  test('says that there is none, and lists the empty days all the same', async () => {
    const ran = await stats('--by', 'day', '--since', '2026-03-28', '--until', '2026-03-29')
    expect(ran.stdout).toBe('DAY\tTAPS\tVALID\tREFUSED\n2026-03-28\t0\t0\t0\n2026-03-29\t0\t0\t0\n')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('There are no taps yet.')])
    expect(await rows('--by', 'group')).toEqual([])
  })
})

describe('with taps', () => {
  beforeAll(() => daemon.ctx.db.write((trx) => trx.insertInto('taps').values(taps).execute()))

  test('by hour: every hour of the span, empty ones too, as a table, as JSON, and as CSV', async () => {
    const hours = await rows('--by', 'hour', ...span)
    expect(hours[1]).toEqual({
      hour: '2026-03-28 21:00',
      from: '2026-03-28T21:00:00.000Z',
      to: '2026-03-28T22:00:00.000Z',
      ...{ taps: 2, valid: 2, refused: 0 },
    })
    expect(hours.map(({ taps }) => taps)).toEqual([0, 2, 0, 2, 0, 1])
    const csv = await stats('--by', 'hour', ...span, '--csv', '--fields', 'hour,taps')
    expect(csv.stdout.split('\n').slice(0, 3)).toEqual([
      'hour,taps',
      '2026-03-28 20:00,0',
      '2026-03-28 21:00,2',
    ])
    expect((await stats('--by', 'hour', ...span)).stdout).toMatch(
      /^HOUR\tTAPS\tVALID\tREFUSED\n2026-03-28 20:00\t0\t0\t0\n/,
    )
    expect((await stats('--by', 'hour', '--json', '--csv')).code).toBe(2)
  })

  test('by day, in UTC or where somebody lives; a date is a day there, the last one included', async () => {
    const days = async (...args: string[]) =>
      (await rows('--by', 'day', '--since', '2026-03-28', '--until', '2026-03-29', ...args)).map(
        ({ day, taps }) => [day, taps],
      )
    expect(await days()).toEqual([
      ['2026-03-28', 4],
      ['2026-03-29', 1],
    ])
    expect(await days('--time-zone', 'Europe/Berlin')).toEqual([
      ['2026-03-28', 2],
      ['2026-03-29', 3],
    ])
    const unknown = await stats('--time-zone', 'Mars/Olympus')
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('there is no time zone "Mars/Olympus"'),
    ])
  })

  test('by outcome, group, and item; of one group, of one outcome', async () => {
    const by = async (unit: string, ...args: string[]) => rows('--by', unit, ...span, ...args)
    expect((await by('outcome')).filter(({ taps }) => taps !== 0)).toEqual([
      { outcome: 'valid', taps: 3 },
      { outcome: 'replayed', taps: 1 },
      { outcome: 'unknown-chip', taps: 1 },
    ])
    expect(await by('outcome')).toHaveLength(6)
    const groups = await by('group')
    const group = groups.find(({ chipGroup }) => chipGroup !== null)
    expect(groups).toHaveLength(2)
    expect(group).toMatchObject({ team: 'Acme', taps: 4, valid: 3, refused: 1 })
    expect(groups.at(-1)).toMatchObject({ chipGroup: null, team: null, taps: 1, valid: 0 })
    expect(await by('item', '--outcome', 'valid')).toContainEqual({
      item: 'jacket',
      team: 'Acme',
      taps: 3,
      valid: 3,
      refused: 0,
    })
    expect(await by('group', '--chip-group', String(group?.chipGroup))).toEqual([group])
    expect(await by('hour', '--outcome', 'refused')).toHaveLength(6)
    const more = await stats('--by', 'group', ...span, '--limit', '1', '--json')
    expect([(more.json() as unknown[]).length, more.stderr]).toEqual([
      1,
      expect.stringContaining('1 more group'),
    ])
    expect((await stats('--chip-group', 'Nowhere')).code).toBe(1)
  })

  test('a list as CSV has the UID in hex, as spreadsheets need it, and no cell that one would run', async () => {
    const list = await here.run('taps', 'list', '--csv', '--outcome', 'valid', '--limit', '1')
    const [heading, row] = list.stdout.split('\n')
    expect(heading).toBe('id,at,team,counter,outcome,via,uid,keySet,tamper,fileData')
    expect(row).toMatch(/,valid,page,04:[0-9A-F:]{17},101,,$/)
    const groups = (
      await here.run('chip-groups', 'list', '--team', 'Acme', '--csv', '--fields', 'name,chips')
    ).stdout
    expect(groups.split('\n')[0]).toBe('name,chips')
    expect((await here.run('chips', 'list', '--team', 'Acme', '--csv')).stdout).toMatch(/^uid,.*\n04:/)
    const one = await here.run('chips', 'show', uids.jacket, '--csv', '--fields', 'uid,family')
    expect(one.stdout).toMatch(/^uid,family\n04:[0-9A-F:]+,ntag424\n$/)
    expect((await here.run('teams', 'list', '--ndjson')).lines()).toEqual(
      (await here.run('teams', 'list', '--json')).json(),
    )
    const audit = await here.run('audit', 'list', '--csv', '--fields', 'actor,detail', '--limit', '1')
    expect(audit.stdout).toMatch(/^actor,detail\n[^\n]+,(\{\}|"\{.*\}")\n$/)
    expect(Array.from(csvPieces()([{ a: '=1+1', b: -1, c: null }, { d: true }]))).toEqual([
      'a,b,c,d',
      "'=1+1,-1,,",
      ',,,true',
    ])
  })

  test('a span that is empty, backwards, or too long says so', async () => {
    const empty = await stats('--by', 'group', '--since', '2025-01-01', '--until', '2025-01-02')
    expect([empty.stdout, empty.stderr]).toEqual([
      '',
      expect.stringContaining('The newest tap is from 2026-03-'),
    ])
    const backwards = await stats('--since', '2026-03-29', '--until', '2026-03-01')
    expect([backwards.code, backwards.stderr]).toEqual([2, expect.stringContaining('ends before it begins')])
    const long = await stats('--by', 'hour', '--since', '2020-01-01')
    expect(long.stderr).toContain('more than 10000 hours. Choose a shorter span, or count by day')
    expect((await rows('--by', 'day', '--since', '2020-01-01')).length).toBeGreaterThan(2000)
  })

  test('says since when taps are kept, once some were deleted', async () => {
    const set = (value: string) =>
      daemon.ctx.db.write((trx) =>
        trx.updateTable('settings').set({ value }).where('key', '=', 'tapsDeleted').execute(),
      )
    const later = ['--since', '2026-03-28T21:30Z', '--until', '2026-03-30']
    await set('3')
    expect((await stats(...span)).stderr).toContain(
      'The oldest tap that is kept is from 2026-03-28T21:10:00.000Z.',
    )
    expect((await stats('--by', 'outcome', ...later)).stderr).toContain(
      'Refused taps are kept since 2026-03-28T23:30',
    )
    await set('0')
    expect((await stats(...span)).stderr).toBe('')
  })

  test('as a plot off a terminal: in plain characters, and as ever with --json', async () => {
    const { stdout, stderr, code } = await stats('--by', 'hour', ...span, '--plot')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('# valid 3   x refused 2   at most 2 per hour')
    expect(stdout).not.toContain('\u001b')
    const json = ['--by', 'hour', ...span, '--json']
    expect((await stats(...json, '--plot')).stdout).toBe((await stats(...json)).stdout)
    expect((await stats('--by', 'group', ...span, '--plot')).stdout).toMatch(/^Jackets 4 #{8,}\n/)
    expect((await stats('--by', 'outcome', ...span, '--plot')).stdout).toContain('replayed')
    expect((await stats('--since', '2020-01-01', '--until', '2020-01-02', '--plot')).stdout).toBe('')
  })

  test('of many taps, those before the span are not read', async () => {
    const { db, tapLog } = daemon.ctx
    const old = tap('01T00:00', uids.jacket)
    await db.write((trx) =>
      trx
        .insertInto('taps')
        .values({ ...old, id: 900_000 })
        .execute(),
    )
    await db.write((trx) =>
      trx
        .insertInto('taps')
        .values({ ...tap('29T01:30', uids.jacket), id: 1_000_000 })
        .execute(),
    )
    let queries = 0
    const slow = db.slow.withPlugin({
      transformQuery: ({ node }) => {
        queries += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const count = (since: string) =>
      countTaps(
        {
          db: { read: db.read, slow },
          tapLog,
          clock: { now: () => Date.parse('2026-03-30'), monotonic: () => 0 },
        },
        { by: 'outcome', since, timeZone: 'UTC', limit: 1 },
      )
    const { rows: few } = await count('2026-03-29T01:15:00.000Z')
    expect(few[0]).toEqual({ outcome: 'valid', taps: 1 })
    const needed = queries
    queries = 0
    expect((await count('2026-01-01T00:00:00.000Z')).rows[0]).toEqual({ outcome: 'valid', taps: 5 })
    expect(queries).toBeGreaterThan(needed)
  })
})

describe('a plot', () => {
  const parts = [
    { name: 'valid', color: 'green' as const, values: [0, 10, 100, 3] },
    { name: 'refused', color: 'red' as const, values: [0, 0, 1, 0] },
  ]
  const labels = { first: '20:00', last: '23:00', unit: 'hour' }
  const plain = { width: 30, unicode: false, color: false }

  test('that is asked for has a scale, a column for each hour, and a legend in words', () => {
    const lines = columnPlot(parts, labels, plain)
    expect(lines).toHaveLength(12)
    expect(lines[0]).toBe(' 101           xxxx')
    expect(lines[9]).toBe('   0      #### #### ####')
    expect(lines.slice(10)).toEqual([
      '     20:00         23:00',
      '     # valid 113   x refused 1   at most 101 per hour',
    ])
    const colored = columnPlot(parts, labels, { ...plain, unicode: true, color: true })
    expect(colored[0]).toContain('\u001b[31m▒▒▒▒\u001b[39m')
    expect(colored[9]).toContain('▂▂▂▂')
  })

  test('never gets wider than the terminal, and says what a column stands for', () => {
    const values = Array.from({ length: 1000 }, (_, at) => at)
    const lines = columnPlot([{ name: 'valid', color: 'green', values }], labels, { ...plain, width: 60 })
    for (const line of lines.slice(0, 11)) expect(line.length).toBeLessThanOrEqual(60)
    expect(lines.at(-1)).toMatch(/a column is \d+ hours$/)
    expect(columnPlot([{ name: 'valid', color: 'green', values: [0, 0] }], labels, plain)).toEqual([])
  })

  test('of groups has a bar for each', () => {
    const rows = [
      { name: 'Jackets', value: 1200 },
      { name: 'Bags', value: 0 },
    ]
    expect(barPlot(rows, plain)).toEqual([`Jackets 1,200 ${'#'.repeat(15)}`, 'Bags        0'])
  })

  const area = { width: 8, unicode: true }
  test('shows nothing as nothing, little as little, and never more than fits', () => {
    expect(sparkline([0, 1, 100, 50], area)).toBe(' ▁█▅')
    expect(sparkline([0, 1, 100, 50], { width: 8, unicode: false })).toBe(' .@+')
    expect(
      sparkline(
        Array.from({ length: 100 }, () => 1),
        area,
      ).length,
    ).toBeLessThanOrEqual(8)
    expect([
      bar(0, 8, area),
      bar(1, 1000, area),
      bar(8, 8, area),
      bar(4, 8, { width: 8, unicode: false }),
    ]).toEqual(['', '▏', '████████', '####'])
  })

  test('is for terminals alone, in characters that they can show', () => {
    class Screen extends Writable {
      isTTY = true
      columns = 60
    }
    const screen = new Screen()
    const at = (env: Record<string, string>) => plotArea({ stdout: screen, env })
    expect(at({ LANG: 'de_DE.UTF-8' })).toEqual({ width: 60, unicode: true })
    expect(at({ LANG: 'de_DE.UTF-8', LC_ALL: 'C' })?.unicode).toBe(false)
    expect(at({ TERM: 'dumb' })).toBeUndefined()
    const io = (flags: object) =>
      createIo(
        { stdout: screen, stderr: screen, env: {}, now: () => new Date() },
        { json: false, quiet: false, color: false, ...flags },
      ).plot
    expect(io({})).toBeDefined()
    for (const flags of [{ json: true }, { csv: true }, { fields: ['taps'] }])
      expect(io(flags)).toBeUndefined()
    screen.isTTY = false
    expect(io({})).toBeUndefined()
  })
})
