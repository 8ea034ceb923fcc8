import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bundled } from '../lib/bundle.mjs'
import { uidHex } from '../lib/chips.mjs'
import { keySet, seed, startDaemon } from '../lib/daemon.mjs'
import { watchWaits } from '../lib/machine.mjs'
import { startHelper } from '../lib/processes.mjs'
import { percentiles } from '../lib/stats.mjs'
import { thousands } from '../lib/table.mjs'
import { tried } from '../lib/within.mjs'

/** A daemon with room: at a rate that it could not keep, a queue would be measured. */
const rate = 500
/** That everything else is the same beside it tells the machine's part in a wait. */
const few = 10_000
const partSeconds = 60
/** On a machine that others use, a wait for the processor is none for a database: rounds are repeated meanwhile. */
const calmShare = 0.03
/** Prime to both numbers of chips, and near the golden part of the larger one: each is far from those before it. */
const step = 6_180_339

const [team] = seed.teams
const content = {
  ...seed,
  teams: [{ ...team, chipGroups: [{ name: 'Stock', chips: [{ uid: uidHex(0), keySet: keySet.id }] }] }],
}

/** How long the slowest of a hundred valid taps takes where there are so many chips, beside a small database. */
export async function measureTenMillion({
  cores,
  dir,
  announce,
  nextRound,
  rounds,
  window: seconds,
  chips,
  patience,
  tapMaker,
}) {
  const { fillDatabase, largeUid } = await bundled(dir('peers'), 'peers/large-database')
  const [row] = announce({
    name: `p99 of valid taps, ${rate}/s on ${thousands(chips)} chips`,
    unit: 'ms',
    peer: `on ${thousands(few)}`,
    isAbsolute: true,
    bar: 15,
    ...{ values: [], peers: [], ratios: [], notes: [] },
  })
  const hexOf = (at) => BigInt(largeUid(at)).toString(16).toUpperCase().padStart(14, '0')
  const begun = performance.now()
  const databases = []
  for (const count of [chips, few]) {
    const place = dir(`chips-${count}`)
    const empty = await startDaemon(cores.server, place, undefined, content)
    await empty.stop()
    fillDatabase(empty.databaseFile, { chips: count, taps: 0 })
    const daemon = await startDaemon(cores.server, place, undefined, content)
    databases.push({ count, daemon, made: 0 })
  }
  row.notes.push(`made in ${Math.round((performance.now() - begun) / 1000)} s`)
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const stretch = async (database) => {
    const { count, daemon } = database
    const paths = Array.from({ length: rate * seconds }, () => {
      const at = database.made++
      // Above the counter of the chip that the others are copies of.
      return `/chips/find?${tapMaker.query(hexOf((at * step) % count), 2 + Math.floor(at / count))}`
    })
    await load.ask({ op: 'prepare', paths, once: true })
    const waits = watchWaits(daemon.pid)
    await load.ask({ op: 'begin', port: daemon.port, rate, expect: '"isValidTap":true' })
    await sleep(seconds * 1000)
    const { latencies, sent, wrong, sample } = await load.ask({ op: 'finish' })
    if (wrong > 0) throw new Error(`${wrong} of ${sent} taps, such as ${sample}`)
    const [p50, p99] = percentiles(latencies)
    return { p50, p99, waited: waits() }
  }
  const done = []
  let spent = 0
  const calm = () => done.filter(({ waited }) => waited < calmShare)
  // The first round warms all up.
  for (let round = -1; round < 0 || (calm().length < rounds && spent < patience); round++) {
    await nextRound()
    const begun = performance.now()
    await tried([row], partSeconds, async () => {
      const [many, beside] = [await stretch(databases[0]), await stretch(databases[1])]
      if (round >= 0) done.push({ many, beside, waited: Math.max(many.waited, beside.waited) })
    })
    spent += (performance.now() - begun) / 1000
  }
  const calmest = done.sort((one, other) => one.waited - other.waited).slice(0, rounds)
  for (const { many, beside } of calmest) {
    row.values.push(many.p99)
    row.peers.push(beside.p99)
    row.ratios.push(many.p99 / beside.p99)
  }
  const shown = calmest.map(
    ({ many, beside, waited }) =>
      `${many.p50.toFixed(2)} and ${beside.p50.toFixed(2)} ms (${Math.round(waited * 100)} %)`,
  )
  row.notes.push(
    `the ${calmest.length} calmest of ${done.length} rounds: half of the taps took at most, while a daemon was kept from its core by others so much of the time: ${shown.join(', ')}`,
  )
  await load.end()
  await Promise.all(databases.map(({ daemon }) => daemon.stop()))
}
