import { fileURLToPath } from 'node:url'
import BetterSqlite3 from 'better-sqlite3'
import { csvOfChips, range, uidDecimal, uidHex } from '../lib/chips.mjs'
import { call, importChips, startDaemon } from '../lib/daemon.mjs'
import { watchCpu } from '../lib/machine.mjs'
import { startHelper } from '../lib/processes.mjs'
import { tried } from '../lib/within.mjs'

const stock = 900_000
const listed = 100_000
const edited = 100_000
/** One round of one of them. */
const partSeconds = 30

/** An edit of very many chips and a list of very many, against the same by raw SQL on an equal database. */
export async function measureBulk({ cores, dir, announce, rounds }) {
  const daemon = await startDaemon(cores.server, dir('bulk'))
  await importChips(daemon, 'Stock', csvOfChips(0, stock), stock)
  await importChips(daemon, 'Listed', csvOfChips(stock, listed), listed)
  const copy = `${daemon.databaseFile}.raw`
  const { teamId, chipGroupId } = await copyDatabase(daemon.databaseFile, copy)
  const raw = startHelper(cores.server, fileURLToPath(new URL('../peers/raw-sql.mjs', import.meta.url)))
  await raw.ask({ op: 'open', file: copy })

  const indexes = range(0, edited, Math.floor(stock / edited))
  const uids = indexes.map(uidDecimal)
  const tagUIDs = indexes.map(uidHex)
  const [edit, list] = announce(
    row('PATCH of 100,000 chips among 1,000,000', 1.5, 'raw UPDATE'),
    row('GET /chips of a group of 100,000', 2, 'json_group_array'),
  )
  // The first round warms both up.
  const editOnce = async (round) => {
    const redirectUrl = `https://example.com/round/${round}`
    const body = JSON.stringify({ tagUIDs, updates: { redirectUrl } })
    const limit = await raw.ask({ op: 'update', uids, teamId, redirectUrl })
    const mine = await watched(daemon, () => call(daemon, 'PATCH', '/chips', { body }))
    if (limit.rows !== edited) throw new Error(`raw SQL changed ${limit.rows} chips`)
    if (round > 0) add(edit, mine, limit)
  }
  const listOnce = async (round) => {
    const limit = await raw.ask({ op: 'list', chipGroupId })
    const mine = await watched(daemon, () => call(daemon, 'GET', '/chips?name=Listed'))
    if (limit.bytes !== mine.bytes)
      throw new Error(`the list has ${mine.bytes} bytes, raw SQL's ${limit.bytes}`)
    if (round > 0) add(list, mine, limit)
  }
  for (let round = 0; round <= rounds; round++) await tried([edit], partSeconds, () => editOnce(round))
  for (let round = 0; round <= rounds * 2; round++) await tried([list], partSeconds, () => listOnce(round))
  await raw.end()
  await daemon.stop()
  const [after, rawAfter] = [daemon.databaseFile, copy].map((file) => redirected(file, rounds))
  edit.notes.push(
    after === edited && rawAfter === edited
      ? `${after} chips changed in both databases`
      : `WRONG: ${after} chips changed, ${rawAfter} by raw SQL`,
  )
}

const row = (name, bar, peer) => ({
  name,
  bar,
  peer,
  unit: 'ms',
  values: [],
  peers: [],
  ratios: [],
  share: [],
  notes: [],
})

async function watched(daemon, work) {
  const share = watchCpu(daemon.pid)
  const answer = await work()
  return { ms: answer.ms, bytes: answer.bytes, share: share() }
}

function add(into, mine, limit) {
  into.values.push(mine.ms)
  into.peers.push(limit.ms)
  into.ratios.push(mine.ms / limit.ms)
  if (mine.share !== undefined) into.share.push(mine.share)
}

async function copyDatabase(file, to) {
  const db = new BetterSqlite3(file, { readonly: true })
  try {
    await db.backup(to)
    return db.prepare('select id as "chipGroupId", "teamId" from "chipGroups" where name = ?').get('Listed')
  } finally {
    db.close()
  }
}

function redirected(file, round) {
  const db = new BetterSqlite3(file)
  try {
    return db
      .prepare('select count(*) from chips where "redirectUrl" = ?')
      .pluck()
      .get(`https://example.com/round/${round}`)
  } finally {
    db.close()
  }
}
