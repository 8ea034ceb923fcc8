import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { csvOfChips, range, uidDecimal } from '../lib/chips.mjs'
import { adminToken, apiKey, call, cliScript, importChips, startDaemon } from '../lib/daemon.mjs'
import { watchCpu } from '../lib/machine.mjs'
import { startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'

const chips = 100_000
const partSeconds = 60
const megabytes = 150

/** Sheets of 100,000 rows by whole commands, against the same rows in one POST /chips/batch. */
export async function measureSheets({ cores, dir, announce, rounds }) {
  const daemon = await startDaemon(cores.server, dir('sheets'))
  await importChips(daemon, 'Stock', csvOfChips(0, chips), chips)
  const file = join(dir('sheets-file'), 'sheet.csv')
  const [edit, apply] = announce(
    row('100,000 rows, tapchip chips edit', 2),
    row('100,000 rows, tapchip chips apply', 3),
  )
  let url = 0
  const next = () => {
    url += 1
    return `https://example.com/sheet/${url}`
  }
  const against = (into, args) =>
    tried([into], partSeconds, async () => {
      const limit = await batch(daemon, next())
      writeFileSync(file, csvOfChips(0, chips, [['redirectUrl', next()]]))
      const share = watchCpu(daemon.pid)
      const mine = await runCli(cores, dir('sheets-home'), daemon, [...args, '--file', file])
      into.share.push(share())
      into.values.push(mine.ms)
      into.peers.push(limit.ms)
      into.ratios.push(mine.ms / limit.ms)
      into.most = Math.max(into.most ?? 0, mine.megabytes)
    })
  for (let round = 0; round < rounds; round++) {
    await against(edit, ['chips', 'edit'])
    await against(apply, ['chips', 'apply', '--yes'])
  }
  await daemon.stop()
  for (const one of [edit, apply])
    if (one.most !== undefined)
      one.notes.push(
        `${one.most > megabytes ? 'WRONG: ' : ''}at most ${Math.round(one.most)} MB in the command, of ${megabytes}`,
      )
}

const row = (name, bar) => ({
  name,
  bar,
  peer: 'POST /chips/batch',
  unit: 'ms',
  values: [],
  peers: [],
  ratios: [],
  share: [],
  notes: [],
})

/** As a script does: one request with every row. */
async function batch(daemon, redirectUrl) {
  const body = range(0, chips)
    .map((index) => `${JSON.stringify({ uid: uidDecimal(index), redirectUrl })}\n`)
    .join('')
  const answer = await call(daemon, 'POST', '/chips/batch', { body, contentType: 'application/x-ndjson' })
  const changed = answer.text().split('"status":"changed"').length - 1
  if (changed !== chips) throw new Error(`The batch changed ${changed} chips`)
  return answer
}

const peak = fileURLToPath(new URL('../lib/peak.cjs', import.meta.url))

async function runCli(cores, home, daemon, args) {
  const launcher = startHelper(cores.load, fileURLToPath(new URL('../lib/launcher.mjs', import.meta.url)))
  const env = {
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: apiKey,
    TAPCHIP_ADMIN_TOKEN: adminToken,
    HOME: home,
    XDG_STATE_HOME: home,
    XDG_CONFIG_HOME: home,
  }
  const result = await launcher.ask({
    op: 'run',
    command: process.execPath,
    args: ['--require', peak, cliScript, ...args],
    env,
  })
  await launcher.end()
  return result
}
