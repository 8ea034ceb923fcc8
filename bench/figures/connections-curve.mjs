import { fileURLToPath } from 'node:url'
import { csvOfChips, range, uidHex } from '../lib/chips.mjs'
import { curveRow, sampleOf } from '../lib/curve.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { missingFlask, startFlask } from '../lib/flask.mjs'
import { end, startHelper, startServer } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'
import { freshTaps, stretch } from './http.mjs'

const chips = { fresh: 20_000, replayed: 200 }
/** One stretch. */
const partSeconds = 30

/** Taps over more and more connections, each of which sends the next as soon as the last is answered. */
export async function measureConnectionsCurve({ cores, dir, announce, rounds, window, most, tapMaker }) {
  const daemon = await startDaemon(cores.server, dir('connections'))
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const hello = await startServer(cores.server, [
    fileURLToPath(new URL('../peers/hello.mjs', import.meta.url)),
  ])
  const missing = missingFlask('flask-tap')
  const flask = missing === undefined ? await startFlask(cores.server, 'flask-tap') : undefined

  await importChips(daemon, 'Stock', csvOfChips(0, chips.fresh), chips.fresh)
  await importChips(daemon, 'Replayed', csvOfChips(chips.fresh, chips.replayed), chips.replayed)
  const find = (index, counter) => `/chips/find?${tapMaker.query(uidHex(index), counter)}`
  const shown = range(chips.fresh, chips.replayed).map((index) => find(index, 1))
  for (const path of shown) await call(daemon, 'GET', path)

  const own = { server: daemon.pid, port: daemon.port, problems: [] }
  const helloAt = { server: hello.pid, port: Number(new URL(hello.ready.url).port), problems: [] }
  const lines = [
    ['Fastify hello', { ...helloAt, paths: () => ['/'] }],
    ['replayed tap', { ...own, paths: () => shown, expect: '"isValidTap":false' }],
    ['valid tap, durable', { ...own, ...freshTaps(range(0, chips.fresh), find) }],
    [
      'the same checks in Flask',
      flask && {
        server: flask.pid,
        port: flask.port,
        problems: [],
        paths: () => shown,
        expect: '"isValidMac":true',
      },
    ],
  ]
  const rows = announce(...lines.map(([name]) => curveRow(name, 'connections')))
  if (missing !== undefined) rows.at(-1).notes.push(missing)
  const runs = lines.flatMap(([, run], at) => (run === undefined ? [] : [{ run, row: rows[at] }]))
  for (const { run } of runs) await stretch(load, run, 1)
  for (let round = 0; round < rounds; round++)
    for (let connections = 1; connections <= most; connections *= 2)
      for (const { run, row } of runs)
        await tried([row], partSeconds, async () => {
          row.samples.push(sampleOf(connections, await stretch(load, { ...run, connections }, window)))
        })
  for (const { run, row } of runs) row.notes.push(...run.problems)
  await Promise.all([load.end(), end(hello.child), ...(flask ? [end(flask.child)] : [])])
  await daemon.stop()
}
