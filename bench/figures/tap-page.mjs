import { fileURLToPath } from 'node:url'
import { csvOfChips, range, uidHex } from '../lib/chips.mjs'
import { importChips, seed, startDaemon } from '../lib/daemon.mjs'
import { startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'
import { freshTaps, stretch } from './http.mjs'

const chips = 10_000
/** One round. */
const partSeconds = 30

const [team] = seed.teams
const picture = 'https://media.example/jacket.webp'
const jacket = {
  id: 'jacket',
  name: 'Field jacket No. 7',
  description: 'Woven from recycled wool, cut and sewn by two people in our own workshop. '.repeat(4),
  imageUrl: picture,
  contract: 'JKT',
  media: [1, 2, 3].map((n) => ({ mimeType: 'image/webp', url: `https://media.example/jacket-${n}.webp` })),
  attributes: [{ name: 'Size', values: ['M'] }],
  variants: [{ id: 'm', attributes: [{ name: 'Size', value: 'M' }] }],
}
const content = {
  ...seed,
  teams: [
    {
      ...team,
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      items: [jacket],
    },
  ],
}

/** The page of a tap that can be claimed, against the same tap's JSON look-up with its code. */
export async function measureTapPage({ cores, dir, announce, rounds, window, tapMaker, profile }) {
  const daemon = await startDaemon(cores.server, dir('tap-page'), profile, content)
  const load = startHelper(cores.load, fileURLToPath(new URL('../lib/load.mjs', import.meta.url)))
  const columns = [
    ['item', 'jacket'],
    ['variant', 'm'],
  ]
  const taps = async (name, from, path, expect) => {
    await importChips(daemon, name, csvOfChips(from, chips, columns), chips)
    const fresh = freshTaps(
      range(from, chips),
      (index, counter) => `${path}?${tapMaker.query(uidHex(index), counter)}`,
    )
    return { ...fresh, expect, server: daemon.pid, port: daemon.port }
  }
  const page = await taps('Pages', 0, '/t', 'data-action="claim"')
  const find = await taps('Found', chips, '/chips/find', '"otp":')
  const [row] = announce({
    name: 'tap page of a valid tap',
    bar: 0.5,
    peer: '/chips/find',
    unit: '/s',
    values: [],
    peers: [],
    ratios: [],
    share: [],
    perCpu: [],
    notes: [],
  })
  for (const run of [find, page]) await stretch(load, run, Math.max(1, window))
  await profile?.toggle(daemon.pid)
  for (let round = 0; round < rounds; round++)
    await tried([row], partSeconds, async () => {
      const limit = await stretch(load, find, window)
      const mine = await stretch(load, page, window)
      row.values.push(mine.rate)
      row.peers.push(limit.rate)
      row.ratios.push(mine.rate / limit.rate)
      if (mine.share !== undefined && limit.share !== undefined) {
        row.share.push(Math.min(mine.share, limit.share))
        row.perCpu.push(mine.rate / mine.share / (limit.rate / limit.share))
      }
    })
  await profile?.toggle(daemon.pid)
  row.notes.push(...page.problems, ...find.problems)
  await load.end()
  await daemon.stop()
}
