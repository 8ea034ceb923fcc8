import { type CompiledQuery, sql } from 'kysely'
import { DatabaseUnavailable, type Queries } from '../database/database.ts'
import { advanceCounter, recordTap, takenValues, type ValueRefs, valuesOf } from '../taps/take-tap.ts'
import type { TapInsert } from '../taps/tap-insert.ts'
import { preparedNames } from './dialect.ts'
import type { Pool } from './pool.ts'
import { asUnavailable, isUnprepared, mayBeDone } from './servers.ts'

/** A single tap waits for its chip's row; a group skips rows locked by others, so that none delays the rest. */
type Lock = 'waits' | 'skips'

const names = Object.keys(takenValues) as (keyof typeof takenValues)[]
const inputColumns = Object.fromEntries(names.map((name) => [name, sql.ref(`given.${name}`)])) as ValueRefs
const tap = {
  id: sql.ref('tap.id'),
  chipUid: sql.ref('tap.chipUid'),
  counter: sql.ref('tap.counter'),
  at: sql.ref('tap.at'),
  outcome: sql.ref('tap.outcome'),
  tamper: sql.ref('tap.tamper'),
  haloForm: sql.ref('given.haloForm'),
}
const recordset = (json: unknown, columns: readonly (readonly [string, string])[], as: string) =>
  sql`json_to_recordset(${json}::json) as ${sql.ref(as)}(${sql.join(
    columns.map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`),
  )})`

/**
 * The write that takes taps of different chips, as one statement. Concurrent writes to a chip's row each see the
 * result of the previous one.
 */
const takeQuery = (db: Queries, lock: Lock): CompiledQuery =>
  sql`
    with given as (select * from ${recordset(sql`$1`, Object.entries(takenValues), 'given')}),
    tap as (
      ${recordTap(inputColumns, {
        from: sql`given, chips`,
        lock:
          lock === 'skips' ? sql`for no key update of chips skip locked` : sql`for no key update of chips`,
      })}
      returning id, "chipUid", counter, at, outcome, tamper),
    raised as (${advanceCounter(tap, sql`from tap join given on given.uid = tap."chipUid"`)}),
    told as (
      insert into "webhookDeliveries" ("webhookId", "messageId", type, at, "chipUid", data)
      select webhooks.id, message."messageId", message.type, message.at, tap."chipUid", message.data
      from ${recordset(
        sql`$2`,
        [
          ['chipUid', 'text'],
          ['webhookId', 'bigint'],
          ['messageId', 'text'],
          ['type', 'text'],
          ['at', 'text'],
          ['data', 'text'],
        ],
        'message',
      )}
      join tap on tap."chipUid" = message."chipUid" join webhooks on webhooks.id = message."webhookId"
      where webhooks."disabledAt" is null order by tap.id, message.type desc, webhooks.id)
    select "chipUid" as uid, id from tap`.compile(db)

const queries = new Map<Lock, string>()
function textOf(db: Queries, lock: Lock): string {
  const known = queries.get(lock)
  if (known !== undefined) return known
  const text = takeQuery(db, lock).sql.replace(/\s+/g, ' ')
  queries.set(lock, text)
  return text
}

/**
 * In one round trip.
 * @param taps of different chips @returns the IDs of the taps that were taken, by the chip's UID
 * @throws DatabaseError of a conflict, after which it may be tried again; DatabaseUnavailable
 */
export async function takeOn(
  pool: Pool,
  db: Queries,
  taps: readonly TapInsert[],
  lock: Lock,
): Promise<ReadonlyMap<string, number>> {
  const text = textOf(db, lock)
  const values = [
    JSON.stringify(taps.map(valuesOf)),
    JSON.stringify(taps.flatMap(({ messages }) => messages)),
  ]
  const name = preparedNames.of(text)
  const connection = await pool.connect('tap')
  try {
    const { rows }: { rows: { uid: string; id: number }[] } = await connection.query({
      text,
      values,
      ...(name && { name }),
    })
    connection.release()
    return new Map(rows.map(({ uid, id }) => [uid, id]))
  } catch (refused) {
    const error = asUnavailable(refused)
    connection.release(error)
    if (isUnprepared(error)) preparedNames.off()
    throw mayBeDone(refused) ? new DatabaseUnavailable(refused, { isOutcomeUnknown: true }) : error
  }
}
