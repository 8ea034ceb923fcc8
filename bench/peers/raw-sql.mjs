// The limit of the bulk figures and of taps: better-sqlite3 doing the same work with nothing around it.
// A child process: { op, ...settings } comes in, { ms, ...result } goes out.
import BetterSqlite3 from 'better-sqlite3'

/** As the daemon opens its database. */
function open(file, readonly = false) {
  const db = new BetterSqlite3(file, { readonly })
  if (!readonly) db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('cache_size = -65536')
  db.pragma('mmap_size = 268435456')
  db.pragma('temp_store = MEMORY')
  db.pragma('wal_autocheckpoint = 2000')
  return db
}

function timed(work) {
  const start = process.hrtime.bigint()
  const result = work()
  return { ms: Number(process.hrtime.bigint() - start) / 1e6, ...result }
}

let db
let takeTaps

/** Taps by the statements of one, in turn on these chips: as many in a transaction as `group` says. */
function tapping({ file, reads, writes, uids, group }) {
  const [reader, writer] = [open(file, true), open(file)]
  const prepared = (on, statements) =>
    statements.map(({ sql, values }) => {
      const statement = on.prepare(sql)
      const given = (tap) => values.map(({ is, value }) => (is ? tap[is] : value))
      if (!statement.reader) return (tap) => statement.run(given(tap))
      statement.raw()
      if (on.readonly) return (tap) => statement.get(given(tap))
      return (tap) => {
        const row = statement.get(given(tap))
        if (row === undefined) throw new Error('A tap was not taken')
        tap.id = row[0]
      }
    })
  const steps = [
    [reader, 'BEGIN', prepared(reader, reads)],
    [writer, 'BEGIN IMMEDIATE', prepared(writer, writes)],
  ]
  let taken = 0
  return (seconds) => {
    const before = taken
    const end = performance.now() + seconds * 1000
    while (performance.now() < end) {
      const taps = Array.from({ length: group }, (_, at) => ({
        uid: uids[(taken + at) % uids.length],
        // Above that of the tap that was recorded.
        counter: 1_000_000 + Math.floor((taken + at) / uids.length),
      }))
      taken += group
      for (const [on, begin, asks] of steps) {
        on.exec(begin)
        for (const tap of taps) for (const ask of asks) ask(tap)
        on.exec('COMMIT')
      }
    }
    return taken - before
  }
}

const operations = {
  open({ file }) {
    db?.close()
    db = open(file)
    return {}
  },

  prepareTaps(settings) {
    takeTaps = tapping(settings)
    return {}
  },

  takeTaps({ seconds }) {
    return timed(() => ({ taps: takeTaps(seconds) }))
  },

  /** UIDs, decimal and in order, become chips by INSERTs of a thousand rows, in one transaction. */
  insert({ uids, teamId, chipGroupId, keySetId }) {
    const columns = 9
    const rows = 1000
    const row = `(${Array(columns).fill('?').join(',')})`
    const into =
      'insert into chips (uid, "teamId", "chipGroupId", family, "keySetId", generation, "lastCounter", simulated, "createdAt") values '
    const insert = (count) => db.prepare(into + Array(count).fill(row).join(','))
    const createdAt = new Date().toISOString()
    return timed(() => {
      const whole = insert(rows)
      db.exec('BEGIN IMMEDIATE')
      for (let at = 0; at < uids.length; at += rows) {
        const piece = uids.slice(at, at + rows)
        const values = piece.flatMap((uid) => [
          uid,
          teamId,
          chipGroupId,
          'ntag424',
          keySetId,
          0,
          -1,
          0,
          createdAt,
        ])
        const statement = piece.length === rows ? whole : insert(piece.length)
        statement.run(values)
      }
      db.exec('COMMIT')
      return { rows: uids.length }
    })
  },

  /** Sets the redirect URL of these chips of a team. */
  update({ uids, teamId, redirectUrl }) {
    return timed(() => {
      const list = JSON.stringify([...uids].sort())
      db.exec('BEGIN IMMEDIATE')
      const { changes } = db
        .prepare(
          'update chips set "redirectUrl" = ? where uid in (select value from json_each(?)) and "teamId" = ?',
        )
        .run(redirectUrl, list, teamId)
      db.exec('COMMIT')
      return { rows: changes }
    })
  },

  /** A chip group as one JSON text: what GET /chips answers. */
  list({ chipGroupId }) {
    return timed(() => {
      const { json } = db
        .prepare(
          `select json_group_array(json_object('uid', uid, 'createdAt', "createdAt", 'isConfigured',
             json(case when "tokenRow" is not null or "itemId" is not null or "redirectUrl" is not null
               or exists (select 1 from "badgeAssignments" where "chipUid" = uid)
               or exists (select 1 from "guestbookAssignments" where "chipUid" = uid)
               then 'true' else 'false' end),
             'redirectUrl', "redirectUrl")) as json
           from (select * from chips where "chipGroupId" = ? order by uid)`,
        )
        .get(chipGroupId)
      return { bytes: Buffer.byteLength(json) }
    })
  },
}

process.on('message', (message) => {
  try {
    process.send(operations[message.op](message))
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.on('disconnect', () => process.exit(0))
