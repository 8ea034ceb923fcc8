import type { Compilable, CompiledQuery } from 'kysely'
import { type Engine, engineOf, type Prepared, type Queries } from './database.ts'

/** Stands for a value while a query is built; its place in the parameters is found after compiling. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

type Values = Record<string, unknown>

/** A query that is built and compiled once, and run with other values each time. */
export interface Statement<P extends Values, O> {
  all(db: Queries, values: P): Promise<O[]>
  first(db: Queries, values: P): Promise<O | undefined>
  /** How many rows it inserted, changed or deleted; for queries that return none. */
  run(db: Queries, values: P): Promise<number>
}

/**
 * Building and compiling a query costs several times what running it does, so the queries of the hot paths
 * are compiled once: `statement<{ uid: string }>()((db, p) => db.selectFrom('chips').where('uid', '=', p.uid))`.
 * Every value that differs between runs must come from `p`; a list for `in` cannot.
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
      const query = compile(db, engine)
      const ready = { on: engine.prepare?.(query.sql) ?? byKysely(db, query), slots: query.parameters }
      prepared.set(db, ready)
      return ready
    }
    const prepared = new WeakMap<Queries, Ready>()
    const on = (db: Queries) => prepared.get(db) ?? prepare(db)
    // The rows are what the compiled query selects: the driver cannot know, and Kysely's types do.
    return {
      all: (db, values) => {
        const { on: query, slots } = on(db)
        return query.all(filled(slots, values)) as Promise<O[]>
      },
      first: (db, values) => {
        const { on: query, slots } = on(db)
        return query.first(filled(slots, values)) as Promise<O | undefined>
      },
      run: (db, values) => {
        const { on: query, slots } = on(db)
        return query.run(filled(slots, values))
      },
    }
  }

interface Ready {
  on: Prepared
  /** The query's parameters, with placeholders for the values that differ. */
  slots: readonly unknown[]
}

const filled = (slots: readonly unknown[], values: Values): unknown[] =>
  slots.map((slot) => (slot instanceof Placeholder ? values[slot.name] : slot))

function byKysely(db: Queries, query: CompiledQuery): Prepared {
  const run = (parameters: readonly unknown[]) => db.executeQuery({ ...query, parameters })
  return {
    all: async (parameters) => (await run(parameters)).rows,
    first: async (parameters) => (await run(parameters)).rows[0],
    run: async (parameters) => Number((await run(parameters)).numAffectedRows ?? 0n),
  }
}

/** The named values of `p` as an object, for `values(…)`: a proxy cannot list what it stands for. */
export function named<P extends Values, const K extends keyof P>(p: P, keys: readonly K[]): Pick<P, K> {
  return Object.fromEntries(keys.map((key) => [key, p[key]])) as Pick<P, K>
}

/** Of an INSERT with `returning('id')`, which gives exactly one row. */
export function insertedId(row: { id: number } | undefined): number {
  if (!row) throw new Error('An INSERT returned no id')
  return row.id
}
