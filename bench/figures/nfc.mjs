import { fileURLToPath } from 'node:url'
import { bundled } from '../lib/bundle.mjs'
import { adminToken, apiKey, cliScript, keySet, secondsOn, startDaemonWith } from '../lib/daemon.mjs'
import { stayOn } from '../lib/machine.mjs'
import { missingPcsc } from '../lib/pcsc.mjs'
import { end, startCommand } from '../lib/processes.mjs'
import { median } from '../lib/stats.mjs'

const name = 'chips set up through pcscd'
export const boxKeys = {
  ...keySet,
  appMasterKey: '3f5e7d9cbb1a09f8e7d6c5b4a3928171',
  systemIdentifier: '54617063686970',
}
export const boxSeed = {
  version: 1,
  keySets: [{ ...boxKeys, diversification: 'an10922', macInputFrom: 'd' }],
  teams: [
    { name: 'Bench', apiKeys: [{ name: 'bench', key: apiKey }], chipGroups: [{ name: 'Stock', chips: [] }] },
  ],
}

/**
 * A box of chips as in the field, but for the plastic: `tapchip nfc provision` → HTTP → tapchipd, and back → pcscd → a
 * virtual reader → the emulator. Against the same scripts and keys in one process, on pcscd and without it.
 */
export async function measureNfc({ cores, dir, rounds, chips }) {
  const missing = missingPcsc()
  if (missing !== undefined) return [{ name, error: missing }]
  // Six processes take turns over one chip: on one core it would be their queue that is measured.
  stayOn([cores.server, cores.load])
  const pcscSupport = fileURLToPath(new URL('../../tests/support/pcsc', import.meta.url))
  const peers = await bundled(dir('nfc-peers'), 'peers/nfc', {
    'import.meta.dirname': JSON.stringify(pcscSupport),
  })
  let pcscd
  let daemon
  try {
    pcscd = await startPcscdIn(dir('nfc'), peers)
    // No chip's set-up touches a chain.
    daemon = await startDaemonWith(dir('nfc-data'), boxSeed, { TAPCHIP_DEV_CHAIN: 'off' })
    const box = { peers, pcscd, daemon, home: dir('nfc-home'), chips }
    const alone = peers.peersOf(boxKeys, daemon.url, pcscd)
    // The emulator stands for a chip, which needs no warming up.
    await alone.emulator(100)
    const all = []
    for (let round = 0; round < rounds; round++)
      all.push({
        emulator: ofRuns(await alone.emulator(100)),
        pcscd: ofRuns(await alone.pcscd(new peers.Hand(pcscd), chips)),
        ours: await provisionBox(box),
      })
    return rowsOf(all)
  } finally {
    await daemon?.stop()
    await pcscd?.end()
    stayOn([cores.load])
  }
}

/** pcscd with its sockets in a folder that goes away with the bench, however that ends. */
async function startPcscdIn(folder, { startPcscd }) {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    return await startPcscd()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

/** One run of the executable over a box. */
async function provisionBox({ peers, pcscd, daemon, home, chips }) {
  const hand = new peers.Hand(pcscd)
  await hand.lay()
  await hand.noticed()
  const wanted = ['--count', String(chips), '--key-set', String(boxKeys.id), '--chip-group', 'Stock']
  const how = ['--team', 'Bench', '--accept-url', '--allow-unsigned', '--timeout', '10', '--json']
  const before = await secondsOn(daemon, '/admin/nfc/sessions')
  const cli = startCommand([cliScript, 'nfc', 'provision', ...wanted, ...how], {
    PCSCLITE_CSOCK_NAME: pcscd.env.PCSCLITE_CSOCK_NAME,
    TAPCHIP_URL: daemon.url,
    TAPCHIP_ADMIN_TOKEN: adminToken,
    HOME: home,
    XDG_STATE_HOME: home,
    XDG_CONFIG_HOME: home,
  })
  try {
    for await (const line of cli.lines) {
      const { status, error } = JSON.parse(line)
      if (status !== 'provisioned') throw new Error(`A chip ended as ${status}: ${error}`)
      hand.done()
      if (hand.runs.length < chips) await hand.lay()
    }
    const code = await cli.ended
    if (code !== 0 || hand.runs.length !== chips)
      throw new Error(`${hand.runs.length} chips of ${chips}, and it ended with ${code}: ${cli.errors()}`)
    const daemonMs = (((await secondsOn(daemon, '/admin/nfc/sessions')) - before) * 1000) / chips
    return { ...ofRuns(hand.runs), daemonMs }
  } finally {
    hand.lift()
    await end(cli.child)
  }
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

/** What one chip took, in means; the first, which finds nothing warm, is left out. */
function ofRuns([first, ...runs]) {
  const cycleMs = (runs.at(-1).doneAt - first.doneAt) / runs.length
  const ms = mean(runs.map(({ seenAt, doneAt }) => doneAt - seenAt))
  const cardMs = mean(runs.map((run) => run.cardMs))
  return { cycleMs, ms, cardMs, outside: 1 - cardMs / ms, apdus: runs.map(({ apdus }) => apdus) }
}

function rowsOf(rounds) {
  const countsOf = (way) => [...new Set(rounds.flatMap((round) => round[way].apdus))]
  const [apdus, ...more] = new Set(['ours', 'pcscd', 'emulator'].flatMap(countsOf))
  if (more.length > 0)
    throw new Error(
      `A chip gets as many APDUs by each way, and got ${countsOf('ours')} of the executables, ${countsOf('pcscd')} in ` +
        `process on pcscd and ${countsOf('emulator')} in process. If dist/ is older than src/: npm run build`,
    )
  const row = (name, unit, peer, of, peerOf) => ({
    name,
    unit,
    peer,
    values: rounds.map(of),
    peers: rounds.map(peerOf),
    ratios: rounds.map((round) => of(round) / peerOf(round)),
    notes: [],
  })
  const aMinute = ({ cycleMs }) => 60_000 / cycleMs
  const inProcess = 'in process'
  const rate = row(
    name,
    '/min',
    inProcess,
    ({ ours }) => aMinute(ours),
    ({ emulator }) => aMinute(emulator),
  )
  const overPcscd = row(
    'a chip through pcscd, present to done',
    'ms',
    'in process on pcscd',
    ({ ours }) => ours.ms,
    ({ pcscd }) => pcscd.ms,
  )
  const over = row(
    'a chip through pcscd, present to done',
    'ms',
    inProcess,
    ({ ours }) => ours.ms,
    ({ emulator }) => emulator.ms,
  )
  const outside = row(
    'share of that outside the card',
    '%',
    inProcess,
    ({ ours }) => ours.outside,
    ({ emulator }) => emulator.outside,
  )
  const typical = (of) => ms(median(rounds.map(of)))
  const others = ({ ms, cardMs }) => ms - cardMs
  const withoutPolling = Math.round(60_000 / median(rounds.map(({ ours }) => ours.ms)))
  const ofCycle = median(rounds.map(({ ours }) => 1 - ours.cardMs / ours.cycleMs))
  rate.notes.push(
    `a chip takes ${typical(({ ours }) => ours.cycleMs)}: ${typical(({ ours }) => ours.ms)} from present to done ` +
      `(${withoutPolling}/min), and ${typical(({ ours }) => ours.cycleMs - ours.ms)} until pcscd has noticed that it ` +
      'went and the next lies there: it looks at virtual readers every 400 ms, and nobody is slow here',
    `${apdus} APDUs a chip by each way, reading back included; start and first chip of each run are not counted`,
  )
  over.notes.push(
    `${typical(({ ours }) => ours.cardMs)} in the card (the emulator), ` +
      `${typical(({ emulator }) => others(emulator))} in the scripts and their cryptography (in process), ` +
      `${typical(({ pcscd, emulator }) => others(pcscd) - others(emulator))} in vpcd, pcscd and the reader process ` +
      '(in process on pcscd, less that), ' +
      `${typical(({ ours, pcscd }) => others(ours) - others(pcscd))} in HTTP, tapchip, tapchipd, journal and ` +
      'registry (the rest)',
    `tapchipd takes ${typical(({ ours }) => ours.daemonMs)} a chip to answer, by its own metrics, scripts included`,
  )
  outside.notes.push(`${(ofCycle * 100).toFixed(2)} % of the whole time, polling included`)
  return [rate, overPcscd, over, outside]
}

const ms = (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`
