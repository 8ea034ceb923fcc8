import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { csvOfChips, range, shuffled, uidHex } from '../lib/chips.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { watchCpu } from '../lib/machine.mjs'
import { end, startHelper, startServer } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'

export const connections = 64
/** One round of one of them. */
const partSeconds = 30
// More than any machine of today gets through.
const tapsASecond = 30_000
const chips = { blank: 20_000, item: 20_000, redirect: 200, replayed: 200 }

/** What a daemon answers a second, against a Fastify that answers hello. */
export async function measureHttp({
  cores,
  dir,
  announce,
  nextRound,
  rounds,
  window: seconds,
  tapMaker,
  only,
  profile,
}) {
  const hello = await startServer(cores.server, [
    fileURLToPath(new URL('../peers/hello.mjs', import.meta.url)),
  ])
  const daemon = await startDaemon(cores.server, dir('http'), profile)
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const prepared = await prepare(daemon, tapMaker)
  const validBefore = validTaps(daemon)

  const helloRun = { server: hello.pid, port: Number(new URL(hello.ready.url).port), paths: () => ['/'] }
  const runs = prepared
    .filter(({ key }) => only.includes('http') || only.includes(key))
    .map((run) => ({ ...run, server: daemon.pid, port: daemon.port }))
  const rows = announce(
    ...runs.map(({ name, bar }) => ({
      name,
      bar,
      peer: 'hello',
      unit: '/s',
      values: [],
      peers: [],
      ratios: [],
      share: [],
      perCpu: [],
      notes: [],
    })),
  )
  const measure = (run, time) => stretch(load, run, time)

  for (const run of [helloRun, ...runs]) await warmUp(load, run, Math.max(1, seconds))
  await profile?.toggle(daemon.pid)
  for (let round = 0; round < rounds; round++) {
    await nextRound()
    for (const [at, run] of runs.entries()) {
      const row = rows[at]
      await tried([row], partSeconds, async () => {
        const limit = await measure(helloRun, seconds)
        const mine = await measure(run, seconds)
        row.values.push(mine.rate)
        row.peers.push(limit.rate)
        row.ratios.push(mine.rate / limit.rate)
        if (mine.share === undefined || limit.share === undefined) return
        row.share.push(Math.min(mine.share, limit.share))
        row.perCpu.push(mine.rate / mine.share / (limit.rate / limit.share))
      })
    }
  }
  await profile?.toggle(daemon.pid)
  await Promise.all([load.end(), end(hello.child)])
  for (const [at, run] of runs.entries()) rows[at].notes.push(...run.problems)
  const taken = runs.reduce((sum, run) => sum + (run.takes ? run.answered : 0), 0)
  const kept = validTaps(daemon) - validBefore
  const proof = `${taken} fresh taps were answered, all of them valid; ${kept} valid taps are in the database`
  const firstTaken = rows[runs.findIndex((run) => run.takes)]
  firstTaken?.notes.push(kept === taken ? proof : `WRONG: ${proof}`)
  await daemon.stop()
}

/** Until it has had a second of the processor, which on a busy machine takes longer: its code is not compiled before. */
export async function warmUp(load, run, seconds) {
  let had = 0
  for (let time = 0; time < 5 && had < 1; time++)
    had += seconds * ((await stretch(load, run, seconds)).share ?? 1)
}

/** One stretch of load. */
export async function stretch(load, run, seconds) {
  const paths = run.paths(seconds)
  const { port, expect, once = false, connections: open = connections } = run
  await load.ask({ op: 'prepare', paths, once })
  const share = watchCpu(run.server)
  const result = await load.ask({ op: 'run', port, connections: open, seconds, expect })
  const used = share()
  run.answered = (run.answered ?? 0) + result.answered
  if (result.wrong > 0)
    run.problems.push(`WRONG: ${result.wrong} of ${result.answered} answers, such as ${result.sample}`)
  if (once && result.used === paths.length) run.problems.push('ran out of fresh taps: the rate is too low')
  run.used?.(result.used)
  return { rate: result.rate, share: used, latencies: result.latencies }
}

/** The names of its figures, for --only. */
export const httpKeys = ['replayed-tap', 'valid-tap', 'valid-tap-with-code', 'used-ref']

async function prepare(daemon, tapMaker) {
  let from = 0
  const register = async (name, count, columns) => {
    const indexes = range(from, count)
    await importChips(daemon, name, csvOfChips(from, count, columns), count)
    from += count
    return indexes
  }
  const blank = await register('Stock', chips.blank)
  const item = await register('Items', chips.item, [['item', 'jacket']])
  const redirected = await register('Redirected', chips.redirect, [
    ['redirectUrl', 'https://example.com/chip'],
  ])
  const old = await register('Replayed', chips.replayed)

  const find = (index, counter) => `/chips/find?${tapMaker.query(uidHex(index), counter)}`
  const replayed = old.map((index) => find(index, 1))
  for (const path of replayed) await call(daemon, 'GET', path)
  const refs = []
  for (const index of redirected) {
    const tap = await call(daemon, 'GET', `/t?${tapMaker.query(uidHex(index), 1)}`, { status: 302 })
    const path = `/refs/${new URL(tap.headers.location).searchParams.get('svcRef')}`
    await call(daemon, 'GET', path)
    refs.push(path)
  }
  return [
    {
      key: 'replayed-tap',
      name: 'replayed tap',
      bar: 0.35,
      paths: () => replayed,
      expect: '"isValidTap":false',
      problems: [],
    },
    { key: 'valid-tap', name: 'valid tap, durable', bar: 0.2, ...freshTaps(blank, find) },
    {
      key: 'valid-tap-with-code',
      name: 'valid tap with a code, durable',
      bar: 0.17,
      ...freshTaps(item, find),
    },
    {
      key: 'used-ref',
      name: 'used ref',
      bar: 0.5,
      paths: () => refs,
      expect: '"isValidRef":false',
      problems: [],
    },
  ]
}

/** Taps that were never shown before, over the chips in an order of no order; each stretch goes on where the last ended. */
export function freshTaps(indexes, find) {
  const order = shuffled(indexes)
  const made = []
  let next = 0
  return {
    paths: (seconds) => {
      const wanted = next + Math.ceil(tapsASecond * seconds)
      for (let at = made.length; at < wanted; at++)
        made.push(find(order[at % order.length], Math.floor(at / order.length) + 1))
      return made.slice(next, wanted)
    },
    used: (count) => {
      next += count
    },
    once: true,
    takes: true,
    expect: '"isValidTap":true',
    problems: [],
  }
}

function validTaps({ databaseFile }) {
  const db = new BetterSqlite3(databaseFile, { readonly: true })
  try {
    return db.prepare("select count(*) from taps where outcome = 'valid'").pluck().get()
  } finally {
    db.close()
  }
}
