import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { csvOfChips, range, uidDecimal } from '../lib/chips.mjs'
import { adminToken, apiKey, call, cliScript, importChips, keySet, startDaemon } from '../lib/daemon.mjs'
import { distant } from '../lib/distant.mjs'
import { watchCpu } from '../lib/machine.mjs'
import { peakOf, startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'

const chips = 100_000
const partSeconds = 60
const megabytes = 100
const roundTripMs = 80

/**
 * Sheets of 100,000 rows by whole commands, against the same rows in one POST /chips/batch; and how many seconds more they
 * take where the daemon is 80 ms away.
 */
export async function measureSheets({ cores, dir, announce, rounds }) {
  const daemon = await startDaemon(cores.server, dir('sheets'))
  await importChips(daemon, 'Stock', csvOfChips(0, chips), chips)
  const file = join(dir('sheets-file'), 'sheet.csv')
  const [edit, apply] = announce(
    row('100,000 rows, tapchip chips edit', 2),
    row('100,000 rows, tapchip chips apply', 2.5),
  )
  const away = announce(...['import', 'edit', 'apply'].map(distantRow))
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
  const way = await distant(daemon, roundTripMs)
  let group = 0
  const commands = {
    import: () => {
      group += 1
      writeFileSync(file, csvOfChips(chips * group, chips))
      return ['import', '--chip-group', `New ${group}`, '--key-set', String(keySet.id)]
    },
    edit: () => {
      writeFileSync(file, csvOfChips(0, chips, [['redirectUrl', next()]]))
      return ['edit']
    },
    apply: () => {
      writeFileSync(file, csvOfChips(0, chips, [['redirectUrl', next()]]))
      return ['apply', '--yes']
    },
  }
  for (let round = 0; round < Math.min(rounds, 3); round++)
    for (const [at, prepare] of Object.values(commands).entries())
      await tried([away[at]], 2 * partSeconds, async () => {
        const run = (url) =>
          runCli(cores, dir('sheets-home'), { url }, ['chips', ...prepare(), '--file', file])
        const near = await run(daemon.url)
        const far = await run(way.url)
        away[at].values.push(far.ms)
        away[at].peers.push(near.ms)
        away[at].ratios.push((far.ms - near.ms) / 1000)
        away[at].most = Math.max(away[at].most ?? 0, near.megabytes, far.megabytes)
      })
  way.close()
  await daemon.stop()
  for (const one of [edit, apply, ...away])
    if (one.most !== undefined)
      one.notes.push(
        `${one.most > megabytes ? 'WRONG: ' : ''}at most ${Math.round(one.most)} MB in the command, of ${megabytes}`,
      )
}

const distantRow = (verb) => ({
  ...row(`100,000 rows, tapchip chips ${verb} at 80 ms`, 1),
  peer: 'the same without the distance',
  notes: ['the figure is in seconds more, not a ratio'],
})

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
    args: [...peakOf, cliScript, ...args],
    env,
  })
  await launcher.end()
  return result
}
