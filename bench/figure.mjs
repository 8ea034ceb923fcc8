// One figure of the bench, started by run.mjs: { name, plan, seconds, … } comes in, { rows } goes out.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { measureBulk } from './figures/bulk.mjs'
import { measureChain } from './figures/chain.mjs'
import { measureChipsCurve } from './figures/chips-curve.mjs'
import { measureConnectionsCurve } from './figures/connections-curve.mjs'
import { measureConsole } from './figures/console.mjs'
import { measureField } from './figures/field.mjs'
import { measureHttp } from './figures/http.mjs'
import { measureImport } from './figures/import.mjs'
import { measureLarge } from './figures/large.mjs'
import { measureNfc } from './figures/nfc.mjs'
import { measurePeers } from './figures/peers.mjs'
import { measurePostgres } from './figures/postgres.mjs'
import { measurePostgresTap } from './figures/postgres-tap.mjs'
import { measureSheets } from './figures/sheets.mjs'
import { measureStall } from './figures/stall.mjs'
import { measureStarts } from './figures/starts.mjs'
import { measureTapBytes } from './figures/tap-bytes.mjs'
import { measureTapPage } from './figures/tap-page.mjs'
import { measureTenMillion } from './figures/ten-million.mjs'
import { measureWebhooks } from './figures/webhooks.mjs'
import { loadTapMaker } from './lib/load-tap-maker.mjs'
import { stayOn } from './lib/machine.mjs'
import { endAll, killAll } from './lib/processes.mjs'
import { profileTo } from './lib/profile.mjs'
import { reasonOf, within } from './lib/within.mjs'

const figures = {
  console: measureConsole,
  field: measureField,
  http: measureHttp,
  bulk: measureBulk,
  import: measureImport,
  chain: measureChain,
  'chips-curve': measureChipsCurve,
  'connections-curve': measureConnectionsCurve,
  large: measureLarge,
  nfc: measureNfc,
  peers: measurePeers,
  postgres: measurePostgres,
  'postgres-tap': measurePostgresTap,
  sheets: measureSheets,
  stall: measureStall,
  starts: measureStarts,
  'tap-bytes': measureTapBytes,
  'tap-page': measureTapPage,
  'ten-million': measureTenMillion,
  webhooks: measureWebhooks,
}

process.on('exit', killAll)
// Whoever started this is gone.
process.on('disconnect', () => process.exit(1))

/** Waits before a round while another checkout has one of its own. */
const nextRound = () =>
  new Promise((resolve) => {
    process.once('message', resolve)
    process.send({ isRoundOver: true })
  })

/** @returns the rows: those that the figure announced before it measured, and those that it returned */
async function measure({ name, plan, seconds, place, cores, only, profile }) {
  // This process sends what is sent once, and shall not take the servers' core.
  stayOn([cores.load])
  const dir = (folder) => {
    const path = join(place, folder)
    mkdirSync(path, { recursive: true })
    return path
  }
  const rows = []
  const announce = (...made) => {
    rows.push(...made)
    return made
  }
  try {
    const figure = figures[name]
    const tapMaker = await loadTapMaker(place)
    const settings = { cores, dir, tapMaker, only, announce, nextRound, ...plan }
    const profiling = profile === undefined ? undefined : profileTo(profile)
    rows.push(...((await within(seconds, figure({ ...settings, profile: profiling }))) ?? []))
  } catch (error) {
    if (rows.length === 0) rows.push({ name })
    for (const row of rows) row.error ??= reasonOf(error)
  }
  return rows
}

process.once('message', async (told) => {
  const rows = await measure(told)
  await Promise.race([endAll(), sleep(15_000)])
  process.send({ rows }, () => process.exit(0))
})
