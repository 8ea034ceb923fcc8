import { fileURLToPath } from 'node:url'
import { bundled } from '../lib/bundle.mjs'
import { adminToken, cliScript, startDaemonWith } from '../lib/daemon.mjs'
import { distant } from '../lib/distant.mjs'
import { stayOn } from '../lib/machine.mjs'
import { missingPcsc } from '../lib/pcsc.mjs'
import { end, startCommand } from '../lib/processes.mjs'
import { median } from '../lib/stats.mjs'
import { boxKeys, boxSeed } from './nfc.mjs'

const mostRoundTrips = 10
/** A card in a field takes so long over a command. */
const cardMs = 10
const readers = 4
const mostTorn = 3

/**
 * Boxes of chips as in the field: with the daemon 80 and 200 ms away, in seconds more a chip than beside it; and with four
 * readers, as a multiple of one.
 */
export async function measureField({ cores, dir, announce, rounds, chips, onReaders }) {
  stayOn([cores.server, cores.load])
  const daemon = await startDaemonWith(dir('field-data'), boxSeed, { TAPCHIP_DEV_CHAIN: 'off' })
  const home = dir('field-home')
  try {
    const away = [80, 200].map((roundTripMs) => ({ roundTripMs, row: awayRow(roundTripMs) }))
    const four = { ...row('chips a minute with four readers', '/min', 'one reader', 3.5) }
    announce(...away.map((one) => one.row), four)
    for (const { roundTripMs, row } of away)
      for (let round = 0; round < rounds; round++)
        await measureAway({ daemon, home, chips }, roundTripMs, row)
    for (const { row } of away) tellAway(row)
    const missing = missingPcsc()
    if (missing !== undefined) four.notes.push(missing)
    else
      for (let round = 0; round < rounds; round++)
        await measureReaders({ daemon, home, dir, chips: onReaders }, four)
  } finally {
    await daemon.stop()
    stayOn([cores.load])
  }
}

async function measureAway({ daemon, home, chips }, roundTripMs, row) {
  const box = async (ms) => {
    const way = await distant(daemon, ms)
    try {
      const times = await setUp(way.url, home, ['--reader', 'emulator', '--count', String(chips)])
      return { ms: cycleOf(times), roundTrips: way.requests(/^(POST|DELETE) \/admin\/nfc\/sessions/) / chips }
    } finally {
      way.close()
    }
  }
  const near = await box(0)
  const far = await box(roundTripMs)
  row.values.push(far.ms)
  row.peers.push(near.ms)
  row.ratios.push((far.ms - near.ms) / 1000)
  row.roundTrips.push(far.roundTrips)
}

function tellAway({ values, peers, roundTrips, notes }) {
  const trips = Math.max(...roundTrips)
  notes.push(
    `${aMinute(median(values))} chips a minute, and ${aMinute(median(peers))} at 0 ms`,
    `${trips > mostRoundTrips ? 'WRONG: ' : ''}${trips} round trips a chip, of ${mostRoundTrips}`,
  )
}

const aMinute = (ms) => Math.round(60_000 / ms)

/** Each number of readers sets up as many chips a reader. */
async function measureReaders({ daemon, home, dir, chips }, row) {
  const pcscSupport = fileURLToPath(new URL('../../tests/support/pcsc', import.meta.url))
  const peers = await bundled(dir('field-peers'), 'peers/field', {
    'import.meta.dirname': JSON.stringify(pcscSupport),
  })
  const pcscd = await peers.startPcscd({ readers })
  try {
    const box = async (used) => {
      const count = chips * used.length
      const blank = Array.from({ length: count }, () => new peers.Chip(randomUid()))
      const hands = new peers.Hands(pcscd, blank, ({ chip }) => peers.delayed(peers.emulated(chip), cardMs))
      const choice = ['--reader', used.length === 1 ? used[0] : 'all', '--count', String(count)]
      const env = { PCSCLITE_CSOCK_NAME: pcscd.env.PCSCLITE_CSOCK_NAME }
      await hands.lay(used)
      const times = await setUp(daemon.url, home, choice, env, (line) => hands.take(line))
      return aMinuteOf(times, used.length)
    }
    const one = await box(pcscd.readers.slice(0, 1))
    const all = await box(pcscd.readers)
    row.values.push(all)
    row.peers.push(one)
    row.ratios.push(all / one)
  } finally {
    await pcscd.end()
  }
}

const randomUid = () => Buffer.from([4, ...crypto.getRandomValues(new Uint8Array(6))])

/** Runs a box. @returns when each line came, in milliseconds */
async function setUp(url, home, choice, more = {}, onLine = async () => undefined) {
  const wanted = ['--key-set', String(boxKeys.id), '--chip-group', 'Stock', '--team', 'Bench', '--accept-url']
  const env = { TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: adminToken, HOME: home, ...more }
  const args = ['nfc', 'provision', ...wanted, ...choice, '--allow-unsigned', '--timeout', '20', '--json']
  const cli = startCommand([cliScript, ...args], { ...env, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home })
  const times = []
  let torn = 0
  try {
    for await (const text of cli.lines) {
      const line = JSON.parse(text)
      if (line.status === 'provisioned') times.push(performance.now())
      // A virtual card that is swapped faster than its reader looks is torn, and laid down again.
      else if (++torn > mostTorn) throw new Error(`A chip ended as ${line.status}: ${line.error}`)
      await onLine(line)
    }
    const code = await cli.ended
    if (code !== 0) throw new Error(`A box ended with ${code}: ${cli.errors()}`)
    return times
  } finally {
    await end(cli.child)
  }
}

/** The first chip of each reader finds nothing warm, and the time before it is the command's start. */
const cycleOf = (times) => (times.at(-1) - times[0]) / (times.length - 1)
const aMinuteOf = (times, used) => ((times.length - used) * 60_000) / (times.at(-1) - times[used - 1])

const row = (name, unit, peer, bar) => ({
  name,
  unit,
  peer,
  bar,
  values: [],
  peers: [],
  ratios: [],
  notes: [],
})

const awayRow = (roundTripMs) => ({
  ...row(`a chip at ${roundTripMs} ms to the daemon`, 'ms', 'beside it', roundTripMs === 80 ? 1 : undefined),
  roundTrips: [],
})
