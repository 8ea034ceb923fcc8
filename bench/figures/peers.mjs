import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { csvOfChips, range, shuffled, uidDecimal, uidHex } from '../lib/chips.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { missingFlask, startFlask } from '../lib/flask.mjs'
import { watchCpu } from '../lib/machine.mjs'
import { end, startHelper } from '../lib/processes.mjs'
import { recordTap } from '../lib/tap-statements.mjs'
import { tried } from '../lib/within.mjs'
import { connections, freshTaps, stretch } from './http.mjs'

const chips = { fresh: 20_000, replayed: 200 }
/** One round of one of them. */
const partSeconds = 30

/** A tap, against those who do a part of it: Flask checks it and keeps nothing, SQLite keeps it and checks nothing. */
export async function measurePeers({ cores, dir, announce, rounds, window: seconds, tapMaker }) {
  const daemon = await startDaemon(cores.server, dir('peers'))
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const taps = await prepare(daemon, tapMaker)
  const checkouts = process.env.TAPCHIP_BENCH_SDM_BACKEND === undefined ? [] : [sdmBackend(tapMaker)]
  const flasks = await Promise.all(
    [sameChecks(taps.replayed.paths), ...checkouts].map((app) => startApp(cores.server, app)),
  )
  const raw = await startRaw({ cores, dir, tapMaker })
  const rows = announce(
    ...flasks.flatMap(({ about }) => [
      row(`replayed tap, against ${about}`, about),
      row(`valid tap, durable, against ${about}`, about),
    ]),
    row('valid tap, durable, against its statements alone', 'bare SQLite, grouped'),
  )
  const bare = rows.at(-1)
  for (const [at, { missing }] of flasks.entries())
    if (missing !== undefined) for (const one of rows.slice(2 * at, 2 * at + 2)) one.notes.push(missing)

  const served = flasks.flatMap(({ run }, at) =>
    run === undefined ? [] : [{ run, into: rows.slice(2 * at) }],
  )
  for (const run of [taps.replayed, taps.fresh, ...served.map((one) => one.run)])
    await stretch(load, run, Math.max(1, seconds))
  await raw.take(seconds)
  for (let round = 0; round < rounds; round++) {
    let fresh
    await tried([bare], partSeconds, async () => {
      const limit = await raw.take(seconds)
      fresh = await stretch(load, taps.fresh, seconds)
      add(bare, fresh, limit)
    })
    for (const { run, into } of served)
      await tried(into.slice(0, 2), partSeconds, async () => {
        const limit = await stretch(load, run, seconds)
        add(into[0], await stretch(load, taps.replayed, seconds), limit)
        add(into[1], fresh ?? (await stretch(load, taps.fresh, seconds)), limit)
      })
  }
  for (const { run, into } of served) into[0].notes.push(...run.problems)
  bare.notes.push(...taps.fresh.problems, raw.proof())
  await Promise.all([load.end(), raw.end(), ...served.map(({ run }) => end(run.child))])
  await daemon.stop()
}

const row = (name, peer) => ({
  ...{ name, peer, unit: '/s' },
  ...{ values: [], peers: [], ratios: [], share: [], perCpu: [], notes: [] },
})

function add(into, mine, limit) {
  into.values.push(mine.rate)
  into.peers.push(limit.rate)
  into.ratios.push(mine.rate / limit.rate)
  if (mine.share === undefined || limit.share === undefined) return
  // Only ours is to be saturated: a database that waits for its disk is what it is.
  into.share.push(mine.share)
  into.perCpu.push(mine.rate / mine.share / (limit.rate / limit.share))
}

async function prepare(daemon, tapMaker) {
  await importChips(daemon, 'Stock', csvOfChips(0, chips.fresh), chips.fresh)
  await importChips(daemon, 'Replayed', csvOfChips(chips.fresh, chips.replayed), chips.replayed)
  const find = (index, counter) => `/chips/find?${tapMaker.query(uidHex(index), counter)}`
  const shown = range(chips.fresh, chips.replayed).map((index) => find(index, 1))
  for (const path of shown) await call(daemon, 'GET', path)
  const at = { server: daemon.pid, port: daemon.port }
  return {
    replayed: { ...at, paths: () => shown, expect: '"isValidTap":false', problems: [] },
    fresh: { ...at, ...freshTaps(range(0, chips.fresh), find) },
  }
}

/** The same URLs. Which of them were shown before is nothing to it. */
const sameChecks = (paths) => ({
  app: 'flask-tap',
  about: 'the same checks in Flask',
  paths,
  expect: '"isValidMac":true',
})

/** The keys that it has when nobody sets any, which it needs not derive, and taps made with them. */
const sdmBackend = (tapMaker) => ({
  app: 'sdm-backend',
  about: 'sdm-backend',
  paths: () =>
    range(0, chips.replayed).map((index) => {
      const { e, c } = tapMaker.withFactoryKeys(uidHex(index), 1)
      return `/api/tag?picc_data=${e}&cmac=${c}`
    }),
  expect: '"read_ctr": 1,',
})

async function startApp(core, { app, about, paths, expect }) {
  const missing = missingFlask(app)
  if (missing !== undefined) return { about, missing }
  const { pid, port, child } = await startFlask(core, app)
  const shown = paths()
  return { about, run: { child, server: pid, port, paths: () => shown, expect, problems: [] } }
}

/** A database of its own, for the statements that the daemon uses for a tap. */
async function startRaw({ cores, dir, tapMaker }) {
  const { databaseFile: file, ...statements } = await recordTap({
    core: cores.server,
    dir: dir('peers-raw'),
    chips: chips.fresh,
    tapMaker,
  })
  const validTaps = () => {
    const db = new BetterSqlite3(file, { readonly: true })
    try {
      return db.prepare("select count(*) from taps where outcome = 'valid'").pluck().get()
    } finally {
      db.close()
    }
  }
  const before = validTaps()
  const raw = startHelper(cores.server, fileURLToPath(new URL('../peers/raw-sql.mjs', import.meta.url)))
  const uids = shuffled(range(0, chips.fresh)).map(uidDecimal)
  await raw.ask({ op: 'prepareTaps', file, ...statements, uids, group: connections })
  let taken = 0
  return {
    async take(seconds) {
      const share = watchCpu(raw.pid)
      const { ms, taps } = await raw.ask({ op: 'takeTaps', seconds })
      taken += taps
      return { rate: taps / (ms / 1000), share: share() }
    },
    proof() {
      const kept = validTaps() - before
      const said = `bare SQLite took ${taken} taps, ${connections} in a transaction; ${kept} are in its database`
      return kept === taken ? said : `WRONG: ${said}`
    },
    end: () => raw.end(),
  }
}
