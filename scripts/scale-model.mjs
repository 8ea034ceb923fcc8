// npm run scale:model [-- --chips 1000000000 --taps-a-year 4 --kept-months 12 --shards 64]: what so many chips take, from
// what bench/scale.mjs measured on fewer, and how even their taps fall on the shards. The same numbers at every run.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/** What bench/scale.mjs printed. */
const measured = JSON.parse(readFileSync(new URL('scale-measured.json', import.meta.url), 'utf8'))

const { values: options } = parseArgs({
  options: {
    chips: { type: 'string', default: '1000000000' },
    'taps-a-year': { type: 'string', default: '4' },
    'kept-months': { type: 'string', default: '12' },
    shards: { type: 'string', default: '64' },
  },
})
const [chips, tapsAYear, keptMonths, shards] = Object.values({ ...options }).map(Number)
const pageBytes = 8192
const daySeconds = 86_400
/** A day's taps come within hours, and a launch's within minutes. */
const peakOverMean = 20
/** What an inner page of a B-tree holds: a key of 16 bytes, a pointer, and a third of the page free. */
const fanOut = Math.floor((pageBytes * 0.67) / 40)

const sum = (parts) => parts.reduce((total, { bytesARow }) => total + bytesARow, 0)
const depthOf = (rows, bytesARow) => {
  let pages = Math.ceil((rows * bytesARow) / pageBytes)
  let depth = 1
  for (; pages > 1; pages = Math.ceil(pages / fanOut)) depth += 1
  return depth
}
const deepest = (rows, parts) =>
  Math.max(...parts.filter(({ depth }) => depth > 1).map(({ bytesARow }) => depthOf(rows, bytesARow)))
const amount = (bytes) => `${(bytes / 1e9).toLocaleString('en', { maximumFractionDigits: 1 })} GB`
const count = (number) => Math.round(number).toLocaleString('en')

function table(total) {
  const tapsAMonth = (total * tapsAYear) / 12
  const rate = (total * tapsAYear) / (365 * daySeconds)
  return [
    ['chips', count(total)],
    ['chips with their indexes', amount(total * sum(measured.chips))],
    ['deepest index of chips, in pages', deepest(total, measured.chips)],
    ['taps kept', count(tapsAMonth * keptMonths)],
    ['taps with their indexes', amount(tapsAMonth * keptMonths * sum(measured.taps))],
    ['taps of one month', `${count(tapsAMonth)}, ${amount(tapsAMonth * sum(measured.taps))}`],
    ['deepest index of a month of taps, in pages', deepest(tapsAMonth, measured.taps)],
    ['taps a second, mean and peak', `${count(rate)}, ${count(rate * peakOverMean)}`],
  ]
}

/** A generator of numbers from 0 to 1. */
function numbers(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Teams of very different sizes, chips of very different popularity, and the load of the fullest shard over the mean,
 * where a chip's UID chooses the shard, and where its team does.
 */
function simulate(taps = 2_000_000, teams = 10_000) {
  const next = numbers(16)
  const sizes = Array.from({ length: teams }, () => next() ** (-1 / 1.1))
  const whole = sizes.reduce((total, size) => total + size, 0)
  const ends = []
  for (const size of sizes) ends.push((ends.at(-1) ?? 0) + size / whole)
  const loads = { uid: new Float64Array(shards), team: new Float64Array(shards) }
  const byChip = new Map()
  const shardOf = (number) => (Math.imul(number, 0x9e3779b1) >>> 0) % shards
  for (let tap = 0; tap < taps; tap++) {
    const at = next()
    let [low, high] = [0, teams - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? 1) < at) low = middle + 1
      else high = middle
    }
    // One tap in a hundred is of one of a team's few chips on display, which hundreds of people try.
    const chip = next() < 0.01 ? low * 10 + Math.floor(next() * 10) : 1e6 + Math.floor(next() * 2 ** 31)
    byChip.set(chip, (byChip.get(chip) ?? 0) + 1)
    loads.uid[shardOf(chip)] += 1
    loads.team[shardOf(low)] += 1
  }
  let hottest = 0
  for (const of of byChip.values()) hottest = Math.max(hottest, of)
  const fullest = (load) => ((Math.max(...load) * shards) / taps).toFixed(2)
  return [
    [`fullest of ${shards} shards over the mean, by UID`, fullest(loads.uid)],
    [`fullest of ${shards} shards over the mean, by team`, fullest(loads.team)],
    ['share of all taps that the hottest chip has', `${((100 * hottest) / taps).toFixed(3)} %`],
  ]
}

const shown = [
  ...table(chips),
  ['', ''],
  ['of which one shard', ''],
  ...table(chips / shards),
  ['', ''],
  ...simulate(),
]
for (const [what, value] of shown) process.stdout.write(`${what.padEnd(52)}${value}\n`)
