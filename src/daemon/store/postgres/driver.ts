import type * as Driver from 'pg'

let loaded: typeof Driver | undefined

/** A file of its own, so that a daemon on SQLite starts without it. Whatever opens connections awaits this before. */
export async function loadDriver(): Promise<void> {
  loaded ??= await import('pg')
}

/** @throws Error before `loadDriver` has ended */
export function driver(): typeof Driver {
  if (loaded === undefined) throw new Error('The PostgreSQL driver is not loaded')
  return loaded
}

/** True for what a server said; nothing was said before there was a connection. */
export const isServerError = (error: unknown): error is Driver.DatabaseError =>
  loaded !== undefined && error instanceof loaded.DatabaseError
