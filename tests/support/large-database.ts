import BetterSqlite3 from 'better-sqlite3'

export interface LargeDatabase {
  /** How many chips there are afterwards; each as the first one, simulated ones included. */
  chips: number
  /** How many taps are added, three in four of them valid, on chips in turn. */
  taps: number
  /** When the first of them was. */
  since?: string
}

/** The n-th chip that is added, as a decimal UID of 16 digits. */
export const largeUid = (n: number): string => String(1_126_000_000_000_000 + n * 256 + 128)

/**
 * Fills the database of a stopped daemon by SQL alone: what a year of taps leaves, in a minute.
 * The chips are copies of the first one that is there, under UIDs of their own.
 */
export function fillDatabase(
  file: string,
  { chips, taps, since = '2026-01-01T00:00:00.000Z' }: LargeDatabase,
): void {
  const db = new BetterSqlite3(file)
  try {
    db.pragma('synchronous = OFF')
    db.pragma('cache_size = -400000')
    const columns = db
      .prepare("select name from pragma_table_info('chips') where name not in ('uid', 'label', 'publicKey')")
      .pluck()
      .all()
      .map((name) => `"${String(name)}"`)
      .join(', ')
    db.exec('begin')
    db.prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?)
       insert or ignore into chips (uid, ${columns})
       select cast(1126000000000128 + i * 256 as text), ${columns} from n, (select * from chips limit 1)`,
    ).run(chips)
    db.prepare(
      `with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?)
       insert into taps (at, chipUid, teamId, keySetId, counter, outcome, via)
       select strftime('%Y-%m-%dT%H:%M:%fZ', ?, '+' || (i * 2) || ' seconds'),
         cast(1126000000000128 + (i % cast(? as integer)) * 256 as text), chip.teamId, chip.keySetId, i / cast(? as integer) + 1,
         case i % 4 when 3 then 'replayed' else 'valid' end, 'page'
       from n, (select * from chips limit 1) as chip`,
    ).run(taps, since, chips, chips)
    db.exec('update chipGroups set chips = (select count(*) from chips where chipGroupId = chipGroups.id)')
    db.exec('commit')
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}
