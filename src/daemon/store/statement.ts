import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import type { Database } from './schema.ts'

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
    const bind = (db: Kysely<Database>, values: Values): CompiledQuery<O> => {
      if (!compiled) {
        const names = new Proxy({} as P, { get: (_, key) => new Placeholder(String(key)) })
        compiled = build(db, names).compile()
        slots = compiled.parameters
      }
      const parameters = slots.map((slot) => (slot instanceof Placeholder ? values[slot.name] : slot))
      return { ...compiled, parameters }
    }
    return {
      all: async (db, values) => (await db.executeQuery(bind(db, values))).rows,
      first: async (db, values) => (await db.executeQuery(bind(db, values))).rows[0],
      run: async (db, values) => Number((await db.executeQuery(bind(db, values))).numAffectedRows ?? 0n),
      insert: async (db, values) => Number((await db.executeQuery(bind(db, values))).insertId ?? 0n),
    }
  }

/** The named values of `p` as an object, for `values(…)`: a proxy cannot list what it stands for. */
export function named<P extends Values, const K extends keyof P>(p: P, keys: readonly K[]): Pick<P, K> {
  return Object.fromEntries(keys.map((key) => [key, p[key]])) as Pick<P, K>
}
