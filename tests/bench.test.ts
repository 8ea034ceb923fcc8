import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { measureBeside, type Turns } from '../bench/lib/beside.mjs'
import { reportOf } from '../bench/lib/results.mjs'
import { notesOf, tableOf } from '../bench/lib/table.mjs'

const faster = {
  ...{ name: 'a tap', unit: '/s', bar: 0.5, peer: 'hello' },
  ...{ values: [30, 10, 20], peers: [40, 40, 40], ratios: [0.75, 0.25, 0.5], share: [0.5], perCpu: [0.9] },
}
const slower = { ...faster, name: 'a start', unit: 'ms', bar: 0.4, share: [], perCpu: [] }
const latency = {
  ...{ name: 'beside work', latencies: Array.from({ length: 1000 }, (_, n) => n / 100), alone: [1, 1, 2] },
  bar: { p99: 25, p999: 9 },
}
const broken = { name: 'broken', error: 'it ended with 1' }
const rows = [faster, slower, latency, broken]

test('a report says of each figure what was measured, against what, and if the bar is reached', () => {
  const { figures, failed } = reportOf(rows, { failed: 1 })
  expect(failed).toBe(1)
  expect(figures).toMatchObject([
    {
      ...{
        name: 'a tap',
        unit: '/s',
        bar: 0.5,
        isReached: true,
        serverCpu: 0.5,
        ratioPerCpu: 0.9,
        notes: [],
      },
      value: { median: 20, min: 10, max: 30 },
      peer: { name: 'hello', value: { median: 40 } },
      ratio: { median: 0.5, min: 0.25, max: 0.75 },
    },
    { name: 'a start', isReached: false },
    { latency: { p50: expect.closeTo(5, 1), p99: expect.closeTo(9.9, 1) }, isReached: false },
    { name: 'broken', error: 'it ended with 1' },
  ])
  expect(figures[3]).not.toHaveProperty('ratio')
})

test('the table says the same', () => {
  const lines = tableOf(rows).split('\n')
  expect(lines[2]).toMatch(/a tap +20\/s +40\/s hello +0\.50 \(0\.25–0\.75\) +≥ 0\.5 +✓ +50 %\*/)
  expect(lines[3]).toMatch(/a start .* ≤ 0\.4 +✗ +–/)
  expect(lines[4]).toMatch(/beside work +p50 4\.99.* ≤ 25, 9 ms +✗/)
  expect(lines[5]).toMatch(/broken +not measured/)
  expect(notesOf(rows)).toEqual([
    expect.stringMatching(/not saturated/),
    expect.stringMatching(/a tap: per second of CPU the ratio is 0\.90/),
    '✗ broken: it ended with 1',
  ])
})

test('an absolute figure has its bar for what was measured, and needs no peer', () => {
  const alone = { ...{ name: 'room', unit: 'B', bar: 200, isAbsolute: true }, values: [360, 340], ratios: [] }
  const beside = { ...alone, bar: 400, peer: 'bare', peers: [100, 100], ratios: [3.6, 3.4] }
  const [left, compared] = reportOf([alone, beside], {}).figures
  expect(left).toMatchObject({ value: { median: 350 }, bar: 200, isReached: false })
  expect(left).not.toHaveProperty('ratio')
  expect(compared).toMatchObject({ peer: { name: 'bare' }, ratio: { median: 3.5 }, isReached: true })
  expect(tableOf([alone]).split('\n')[2]).toMatch(/room +350 B \(340–360\) +≤ 200 B +✗/)
})

test('two checkouts are measured by turns, round by round, and compared', async () => {
  const done: string[] = []
  const measure = async ({ rounds }: { rounds?: number }, checkout: string | undefined, turns: Turns) => {
    await turns.take()
    const values: number[] = []
    for (let round = 1; round <= Number(rounds); round++) {
      turns.give()
      await turns.take()
      done.push(`${checkout ?? 'here'} ${round}`)
      await new Promise(setImmediate)
      values.push((checkout ? 20 : 30) + round)
    }
    turns.give()
    const ratios = values.map((value) => value / 100)
    return [{ name: 'a tap', unit: '/s', peer: 'hello', values, peers: [100, 100], ratios, notes: ['n'] }]
  }
  const rows = await measureBeside(measure, { seconds: 1, rounds: 2 }, '/before')
  expect(done).toEqual(['here 1', '/before 1', 'here 2', '/before 2'])
  expect(rows).toMatchObject([
    { name: 'a tap', values: [31, 32] },
    { name: 'a tap, in /before', values: [21, 22], notes: ['n'] },
  ])
  expect(notesOf(rows)).toContain(
    '  a tap: against the one beside: value × 1.47 (1.45–1.48), ratio × 1.47 (1.45–1.48)',
  )
})

test.each([
  { args: ['--only', 'taps'], why: /no figure "taps"\. There are .*chips-curve.*replayed-tap/ },
  { args: ['--jsn'], why: /^Unknown option '--jsn'/ },
  { args: ['--beside', '/nowhere'], why: /nowhere is no checkout that is built/ },
  { args: ['--page', '--quick'], why: /more than --quick measures/ },
])(
  'asked for what there is not ($args), the bench says so in a line and measures nothing',
  ({ args, why }) => {
    const script = resolve(import.meta.dirname, '../bench/run.mjs')
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--json', ...args], {
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(why)])
  },
)
