import {
  type Compilable,
  CompiledQuery,
  type DeleteResult,
  type InsertResult,
  type UpdateResult,
} from 'kysely'
import { type Engine, engineOf, type Prepared, type Queries } from './database.ts'

/** Marks a parameter, so that its position can be found after compiling. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

type Values = Record<string, unknown>

/** Compiled once and run with different values. */
export interface Statement<P extends Values, O> {
  all(db: Queries, values: P): Promise<O[]>
  first(db: Queries, values: P): Promise<O | undefined>
  /** @returns the number of changed rows; for queries without result rows */
  run(db: Queries, values: P): Promise<number>
  exists(db: Queries, values: P): Promise<boolean>
  /** @returns false if no row changed, because another caller was first or the state differs */
  runOnce(db: Queries, values: P): Promise<boolean>
}

/**
 * `statement<{ id: number }>()((db, p) => …)`. Compiling each time would make a used ref take 2.5 times as long, and a valid
 * tap 1.25 times. All variable values must come from `p`; lists for `in` are not supported.
 */
export const statement =
  <P extends Values>() =>
  <O>(build: (db: Queries, p: P) => Compilable<O>): Statement<P, O> => {
    const compiled = new Map<string, CompiledQuery<O>>()
    const compile = (db: Queries, engine: Engine): CompiledQuery<O> => {
      const known = compiled.get(engine.name)
      if (known) return known
      const names = new Proxy({} as P, { get: (_, key) => new Placeholder(String(key)) })
      const query = build(db, names).compile()
      compiled.set(engine.name, query)
      return query
    }
    const prepare = (db: Queries): Ready => {
      const engine = engineOf(db)
      const { sql, parameters: slots } = compile(db, engine)
      const ready = { query: engine.prepare?.(sql) ?? byKysely(db, sql), slots }
      prepared.set(db, ready)
      return ready
    }
    const prepared = new WeakMap<Queries, Ready>()
    const on = (db: Queries) => prepared.get(db) ?? prepare(db)
    const run = (db: Queries, values: P) => {
      const { query, slots } = on(db)
      return query.run(filled(slots, values))
    }
    // The driver does not know the row type, but Kysely does.
    const first = (db: Queries, values: P) => {
      const { query, slots } = on(db)
      return query.first(filled(slots, values)) as Promise<O | undefined>
    }
    return {
      all: (db, values) => {
        const { query, slots } = on(db)
        return query.all(filled(slots, values)) as Promise<O[]>
      },
      first,
      exists: async (db, values) => (await first(db, values)) !== undefined,
      run,
      runOnce: async (db, values) => (await run(db, values)) === 1,
    }
  }

interface Ready {
  query: Prepared
  /** Parameters with placeholders for the variable values. */
  slots: readonly unknown[]
}

const filled = (slots: readonly unknown[], values: Values): unknown[] =>
  slots.map((slot) => (slot instanceof Placeholder ? values[slot.name] : slot))

function byKysely(db: Queries, sql: string): Prepared {
  const run = (parameters: readonly unknown[]) =>
    db.executeQuery<unknown>(CompiledQuery.raw(sql, [...parameters]))
  return {
    all: async (parameters) => (await run(parameters)).rows,
    first: async (parameters) => (await run(parameters)).rows[0],
    run: async (parameters) => Number((await run(parameters)).numAffectedRows ?? 0n),
  }
}

/** Needed for `values(…)`, because the keys of a proxy cannot be listed. */
export function named<P extends Values, const K extends keyof P>(p: P, keys: readonly K[]): Pick<P, K> {
  return Object.fromEntries(keys.map((key) => [key, p[key]])) as Pick<P, K>
}

/** @param row from an INSERT with `returning("id")` */
export function insertedId(row: { id: number } | undefined): number {
  if (!row) throw new Error('An INSERT returned no id')
  return row.id
}

export async function affected(query: {
  executeTakeFirst(): Promise<InsertResult | UpdateResult | DeleteResult | undefined>
}): Promise<number> {
  const result = await query.executeTakeFirst()
  if (result === undefined) return 0
  if ('numDeletedRows' in result) return Number(result.numDeletedRows)
  return Number('numUpdatedRows' in result ? result.numUpdatedRows : (result.numInsertedOrUpdatedRows ?? 0n))
}

/** @returns true if exactly one row changed */
export const once = async (query: Parameters<typeof affected>[0]): Promise<boolean> =>
  (await affected(query)) === 1

export const exists = async (query: {
  limit(rows: number): { executeTakeFirst(): Promise<unknown> }
}): Promise<boolean> => (await query.limit(1).executeTakeFirst()) !== undefined
