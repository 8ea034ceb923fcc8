import { fileURLToPath } from 'node:url'
import { bundled } from '../lib/bundle.mjs'
import { uidHex } from '../lib/chips.mjs'
import { curveRow, sampleOf } from '../lib/curve.mjs'
import { keySet, seed, startDaemon } from '../lib/daemon.mjs'
import { startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'
import { stretch } from './http.mjs'

/** One round at one database. */
const partSeconds = 60
/** Latency is that of a daemon with room: at a rate that it could not keep, a queue would be measured. */
const rate = 500
// More than a core of today takes.
const tapsASecond = 12_000
/** From one chip that is tapped to the next: a prime, so that all have their turn, far from each other. */
const step = 7919

const [team] = seed.teams
const content = {
  ...seed,
  teams: [{ ...team, chipGroups: [{ name: 'Stock', chips: [{ uid: uidHex(0), keySet: keySet.id }] }] }],
}

/** Taps on databases of more and more chips, in turn: what the processor does for one, and how long it takes. */
export async function measureChipsCurve({ cores, dir, announce, rounds, window: seconds, sizes, tapMaker }) {
  const { fillDatabase, largeUid } = await bundled(dir('curve-peers'), 'peers/large-database')
  const hexOf = (at) => BigInt(largeUid(at)).toString(16).toUpperCase().padStart(14, '0')
  const [valid, replayed] = announce(
    curveRow('valid tap, durable', 'chips'),
    curveRow('replayed tap', 'chips'),
  )
  const databases = []
  for (const chips of sizes) {
    const place = dir(`chips-${chips}`)
    const empty = await startDaemon(cores.server, place, undefined, content)
    await empty.stop()
    fillDatabase(empty.databaseFile, { chips, taps: 0 })
    const daemon = await startDaemon(cores.server, place, undefined, content)
    const taps = freshTaps((at, counter) => `/chips/find?${tapMaker.query(hexOf(at), counter)}`, chips)
    databases.push({ chips, daemon, taps, at: { server: daemon.pid, port: daemon.port, problems: [] } })
  }
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const steadily = async ({ port }, paths, expect) => {
    await load.ask({ op: 'prepare', paths, once: true })
    await load.ask({ op: 'begin', port, rate, expect })
    await new Promise((done) => setTimeout(done, (paths.length / rate) * 1000))
    const { latencies, wrong, sample } = await load.ask({ op: 'finish' })
    if (wrong > 0) throw new Error(`${wrong} of ${latencies.length} taps at a steady rate, such as ${sample}`)
    return { latencies }
  }
  const measure = async (row, { chips, at }, saturated, steady) => {
    const { rate, share } = await stretch(load, { ...at, ...saturated }, seconds)
    const { latencies } = await steadily(at, steady(), saturated.expect)
    row.samples.push(sampleOf(chips, { rate, share, latencies }))
  }
  // The first round warms all up.
  for (let round = -1; round < rounds; round++)
    for (const database of databases) {
      const { taps } = database
      const [isValid, isReplayed] = ['"isValidTap":true', '"isValidTap":false']
      const into = round < 0 ? [curveRow(), curveRow()] : [valid, replayed]
      await tried([valid, replayed], partSeconds, async () => {
        await measure(into[0], database, { ...taps, expect: isValid }, () => taps.take(rate * 2))
        // Those that were just taken, so that they lie all over the database too.
        const { shown } = taps
        const some = () => shown.slice(0, rate * 2)
        await measure(into[1], database, { paths: () => shown, expect: isReplayed }, some)
      })
    }
  for (const { at, chips } of databases)
    for (const problem of at.problems) valid.notes.push(`${chips.toLocaleString('en')} chips: ${problem}`)
  await load.end()
  await Promise.all(databases.map(({ daemon }) => daemon.stop()))
}

/** Taps that were never shown before, all over the chips. */
function freshTaps(tapOf, chips) {
  let made = 0
  let left = []
  const take = (count) => {
    while (left.length < count) {
      // Each round over all chips has its own counter.
      left.push(tapOf((made * step) % chips, Math.floor(made / chips) + 1))
      made += 1
    }
    const taken = left.slice(0, count)
    left = left.slice(count)
    return taken
  }
  const taps = {
    shown: [],
    take,
    once: true,
    paths: (seconds) => {
      taps.shown = take(Math.ceil(tapsASecond * seconds))
      return taps.shown
    },
    used: (count) => {
      left = [...taps.shown.slice(count), ...left]
      taps.shown = taps.shown.slice(0, count)
    },
  }
  return taps
}
