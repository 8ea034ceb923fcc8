import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { plotsOf } from '../bench/lib/page-plots.mjs'
import { type Report, reportOf } from '../bench/lib/results.mjs'
import { merged, pageWith } from '../bench/page.mjs'

const textOf = (name: string) => readFileSync(resolve(import.meta.dirname, '../docs', name), 'utf8')
const kept: Report = JSON.parse(textOf('performance.json'))

test('the tables of the page are what the kept results say', () => {
  expect(pageWith(textOf('performance.md'), kept)).toBe(textOf('performance.md'))
})

test('the plots of the page are what the kept results say', () => {
  const plots = plotsOf(kept)
  expect(Object.keys(plots)).toEqual(['performance-chips', 'performance-connections'])
  for (const [name, svg] of Object.entries(plots)) expect(textOf(`images/${name}.svg`), name).toBe(svg)
})

test('a page without a place for a part is refused', () => {
  expect(() => pageWith('# Performance', kept)).toThrow(/no place for machine/)
})

const curve = {
  ...{ figure: 'chips-curve', name: 'valid tap', by: 'chips' },
  samples: [
    { at: 1000, rate: 20, cpu: undefined, p50: 3, p99: 9 },
    { at: 10, rate: 10, cpu: 50, p50: 1, p99: 2 },
    { at: 10, rate: 30, cpu: 70, p50: 1, p99: 4 },
    { at: 10, rate: 20, cpu: 90, p50: 1, p99: 3 },
  ],
}
const about = { machine: 'one', failed: 0 }

test('the points of a curve are the medians of its rounds, in the order of what grows', () => {
  const [result] = reportOf([curve], about).figures
  expect(result).toEqual({
    ...{ figure: 'chips-curve', name: 'valid tap', notes: [], by: 'chips' },
    points: [
      { at: 10, rate: 20, cpu: 70, p50: 1, p99: 3 },
      { at: 1000, rate: 20, p50: 3, p99: 9 },
    ],
  })
})

test('a line is higher where its values are larger, and lies on logarithmic axes', () => {
  const points = [1, 10, 100].map((value) => ({ at: value, rate: value, cpu: value, p50: 1, p99: 2 }))
  const [line = ''] = /(?<=class="line [^>]* d=")M[^"]*/.exec(
    plotsOf({ figures: [{ name: 'a', by: 'chips', points }] })['performance-chips'] ?? '',
  ) ?? ['']
  const [[x0, y0], [x1, y1], [x2, y2]] = line
    .slice(1)
    .split('L')
    .map((place) => place.split(' ').map(Number)) as [[number, number], [number, number], [number, number]]
  expect(x1 - x0).toBeCloseTo(x2 - x1, 0)
  expect(y0 - y1).toBeCloseTo(y1 - y2, 0)
  expect(y0 - y1).toBeGreaterThan(20)
})

test('a part that is measured again takes the place of that part, but not of what another machine measured', () => {
  const before = reportOf([curve, { figure: 'peers', name: 'old' }], about)
  const again = reportOf([{ figure: 'peers', name: 'new', error: 'it ended with 1' }], about)
  const both = merged(before, again)
  expect(both.figures.map(({ name }) => name)).toEqual(['valid tap', 'new'])
  expect(both.failed).toBe(1)
  expect(merged(before, { ...again, machine: 'another' }).figures).toHaveLength(1)
})
