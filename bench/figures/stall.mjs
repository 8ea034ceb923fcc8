import { existsSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { csvOfChips, range, shuffled, uidDecimal, uidHex } from '../lib/chips.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'

/** One round of one of them. */
const partSeconds = 30

const group = 200_000
const tapped = 2000
const tapsOfEach = 40
/** The longest that a turn of the event loop may take, in ms: whoever taps a chip waits for one. */
const limit = 20

/** What the worst of valid and of hostile requests do to taps: the longest turn of the daemon's event loop meanwhile. */
export async function measureStall({ cores, dir, announce, tapMaker, rounds }) {
  const file = `${dir('stall')}/longest`
  const hook = fileURLToPath(new URL('../lib/stall-hook.cjs', import.meta.url))
  const daemon = await startDaemon(cores.server, dir('stall'), {
    flags: ['--require', hook],
    env: { TAPCHIP_BENCH_STALL: file },
  })
  await importChips(daemon, 'Group', csvOfChips(0, group, [['item', 'jacket']]), group)
  await importChips(daemon, 'Tapped', csvOfChips(group, tapped), tapped)
  const taps = startHelper(cores.load, fileURLToPath(new URL('../lib/tapping.mjs', import.meta.url)))
  await taps.ask({ op: 'prepare', paths: pathsOf(tapMaker) })

  const longest = async () => {
    rmSync(file, { force: true })
    process.kill(daemon.pid, 'SIGUSR2')
    while (!existsSync(file)) await sleep(5)
    return JSON.parse(readFileSync(file, 'utf8'))
  }
  const all = worst().map(([name, requests]) => ({ row: rowOf(name), requests }))
  announce(...all.map(({ row }) => row))
  const measure = async (row, requests) => {
    await longest()
    await taps.ask({ op: 'start', port: daemon.port })
    const begun = performance.now()
    let status
    let seen
    try {
      status = await requests(daemon)
      await sleep(50)
    } finally {
      seen = await taps.ask({ op: 'stop' })
    }
    const took = performance.now() - begun - 50
    const { turn, cpu } = await longest()
    row.values.push(turn)
    row.peers.push(limit)
    row.ratios.push(turn / limit)
    if (seen.wrong > 0) row.notes.push(`WRONG: ${seen.wrong} of ${seen.taps} taps`)
    return `${cpu.toFixed(1)} ms of the processor in one turn; ${status ? `${status}, ` : ''}${Math.round(took)} ms; ${seen.taps} taps meanwhile, p99 ${seen.p99.toFixed(1)} ms, the longest ${seen.longest.toFixed(1)} ms`
  }
  for (const { row, requests } of all) {
    let note
    for (let round = 0; round < rounds; round++)
      note = (await tried([row], partSeconds, () => measure(row, requests))) ?? note
    if (note !== undefined) row.notes.push(note)
  }
  await taps.end()
  await daemon.stop()
}

const rowOf = (name) => ({
  name: `turn under ${name}`,
  bar: 1,
  peer: 'limit',
  unit: 'ms',
  values: [],
  peers: [],
  ratios: [],
  notes: [],
})

const pathsOf = (tapMaker) =>
  range(1, tapsOfEach).flatMap((counter) =>
    range(group, tapped).map((at) => `/chips/find?${tapMaker.query(uidHex(at), tapsOfEach + 1 - counter)}`),
  )

/** By name: what is sent, and the status it ends with. */
function worst() {
  const uids = shuffled(range(0, group)).map(uidHex)
  const foreign = range(10_000_000, 1_000_000).map(uidDecimal)
  let round = 0
  const patch = (tagUIDs) => (daemon) =>
    send(daemon, 'PATCH', '/chips', { tagUIDs, updates: { redirectUrl: `https://example.com/${++round}` } })
  const event = (attributes) => ({
    name: 'E',
    tokenId: '1',
    contractId: 1,
    metadata: { name: '', collection: '', description: '', image: '', attributes },
  })
  return [
    ['nothing but taps', () => sleep(1000).then(() => '')],
    [
      'an edit of a group of 200,000',
      async (daemon) => {
        await patch(uids.slice(0, 100_000))(daemon)
        return patch(uids.slice(100_000))(daemon)
      },
    ],
    [
      'four edits of 100,000 at once',
      (daemon) => Promise.all(range(0, 4).map(() => patch(uids.slice(0, 100_000))(daemon))),
    ],
    ['an edit of 100,000 foreign chips', patch(foreign.slice(0, 100_000))],
    ['an edit of 1,000,000', patch(foreign)],
    ['a list of 200,000', (daemon) => send(daemon, 'GET', '/chips?name=Group')],
    ["a list of an item's 200,000", (daemon) => send(daemon, 'GET', '/items/jacket/chips')],
    ['an export of 200,000', (daemon) => send(daemon, 'GET', '/admin/chips/export?chipGroup=Group')],
    [
      '490,000 attributes that do not fit',
      (daemon) => send(daemon, 'POST', '/events', event(Array(490_000).fill(0))),
    ],
    [
      '10,000 attributes that do not fit',
      (daemon) => send(daemon, 'POST', '/events', event(range(0, 10_000).map(() => ({})))),
    ],
    ['a megabyte of {}', (daemon) => sendText(daemon, 'POST', '/events', `[${'{},'.repeat(349_000)}{}]`)],
    [
      '30,000 objects of as many shapes',
      (daemon) =>
        sendText(
          daemon,
          'POST',
          '/events',
          `[${range(0, 31_000)
            .map((at) => `{"k${at}":0}`)
            .join()}]`,
        ),
    ],
    [
      '20,000 rows of a batch',
      (daemon) =>
        lines(
          daemon,
          '/chips/batch',
          uids.slice(0, 20_000).map((uid) => ({ uid, redirectUrl: `https://example.com/b/${round}` })),
        ),
    ],
    [
      'rows of a batch that do not fit',
      (daemon) => sendText(daemon, 'POST', '/chips/batch', '{"uid":1}\n'.repeat(100_000)),
    ],
    [
      'long metadata that is a batch',
      (daemon) =>
        lines(
          daemon,
          '/phygitals/metadata/batch?dryRun=true',
          range(0, 200).map((at) => ({ uid: uids[at], metadata: longMetadata })),
        ),
    ],
    [
      'an import of 50,000 shuffled chips',
      (daemon) =>
        sendText(
          daemon,
          'POST',
          '/admin/chips/import?chipGroup=More&keySet=101&report=failures',
          `uid,label\n${shuffled(range(20_000_000 + 50_000 * ++round, 50_000))
            .map((at) => `${uidHex(at)},L${at}`)
            .join('\n')}\n`,
          'text/csv',
        ),
    ],
    ['the status with its check', (daemon) => send(daemon, 'GET', '/admin/status?check=true')],
    ['the list of chip groups', (daemon) => send(daemon, 'GET', '/admin/chip-groups')],
    ['the list of key sets', (daemon) => send(daemon, 'GET', '/admin/key-sets')],
    ['a backup', (daemon) => send(daemon, 'POST', '/admin/backup', {})],
  ]
}

const longMetadata = JSON.stringify({
  name: '',
  collection: '',
  description: 'x'.repeat(20_000),
  image: '',
  attributes: range(0, 500).map((at) => ({ trait_type: `t${at}`, value: 'v' })),
  media_gallery: [],
})

const send = (daemon, method, path, body) =>
  sendText(daemon, method, path, body === undefined ? undefined : JSON.stringify(body))
const lines = (daemon, path, rows) =>
  sendText(daemon, 'POST', path, rows.map((row) => JSON.stringify(row)).join('\n'))

async function sendText(daemon, method, path, body, contentType) {
  const answer = await call(daemon, method, path, {
    body,
    ...(contentType ? { contentType } : {}),
    status: 'any',
  })
  return answer.status
}
