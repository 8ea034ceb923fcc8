import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Database } from './schema.ts'
import { type Direct, directOf } from './sqlite.ts'

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
  all(db: Kysely<Database>, values: P): Promise<O[]>
  first(db: Kysely<Database>, values: P): Promise<O | undefined>
  /** How many rows it inserted, changed or deleted. */
  run(db: Kysely<Database>, values: P): Promise<number>
  /** The row id that an INSERT made. */
  insert(db: Kysely<Database>, values: P): Promise<number>
}

/**
 * Building and compiling a query costs several times what running it does, so the queries of the hot paths
 * are compiled once: `statement<{ uid: string }>()((db, p) => db.selectFrom('chips').where('uid', '=', p.uid))`.
 * Every value that differs between runs must come from `p`; a list for `in` cannot.
 */
export const statement =
  <P extends Values>() =>
  <O>(build: (db: Kysely<Database>, p: P) => Compilable<O>): Statement<P, O> => {
    let compiled: CompiledQuery<O> | undefined
    let slots: readonly unknown[] = []
    const compile = (db: Kysely<Database>): CompiledQuery<O> => {
      if (!compiled) {
        const names = new Proxy({} as P, { get: (_, key) => new Placeholder(String(key)) })
        compiled = build(db, names).compile()
        slots = compiled.parameters
      }
      return compiled
    }
    const parametersOf = (values: Values): unknown[] =>
      slots.map((slot) => (slot instanceof Placeholder ? values[slot.name] : slot))

    const prepared = new WeakMap<Kysely<Database>, Direct & { statement: ReturnType<Direct['prepare']> }>()
    /** The statement on the connection itself, where there is one: Kysely is needed to write it, not to run it. */
    const direct = (db: Kysely<Database>) => {
      const known = prepared.get(db)
      if (known) {
        known.beforeQuery()
        return known.statement
      }
      const connection = directOf(db)
      if (!connection) return undefined
      const statement = connection.prepare(compile(db).sql)
      prepared.set(db, { ...connection, statement })
      connection.beforeQuery()
      return statement
    }
    const byKysely = (db: Kysely<Database>, values: Values) =>
      db.executeQuery<O>({ ...compile(db), parameters: parametersOf(values) })

    // The rows are what the compiled query selects: better-sqlite3 cannot know, and Kysely's types do.
    return {
      all: async (db, values) => {
        const rows = direct(db)?.all(parametersOf(values)) as O[] | undefined
        return rows ?? (await byKysely(db, values)).rows
      },
      first: async (db, values) => {
        const statement = direct(db)
        return statement
          ? (statement.get(parametersOf(values)) as O | undefined)
          : (await byKysely(db, values)).rows[0]
      },
      run: async (db, values) =>
        direct(db)?.run(parametersOf(values)).changes ??
        Number((await byKysely(db, values)).numAffectedRows ?? 0n),
      insert: async (db, values) =>
        Number(
          direct(db)?.run(parametersOf(values)).lastInsertRowid ??
            (await byKysely(db, values)).insertId ??
            0n,
        ),
    }
  }

/** The named values of `p` as an object, for `values(…)`: a proxy cannot list what it stands for. */
export function named<P extends Values, const K extends keyof P>(p: P, keys: readonly K[]): Pick<P, K> {
  return Object.fromEntries(keys.map((key) => [key, p[key]])) as Pick<P, K>
}
