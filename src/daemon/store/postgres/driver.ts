import type * as Driver from 'pg'

let loaded: typeof Driver | undefined

/** A separate file, so that a daemon on SQLite starts without the driver. Await this before opening connections. */
export async function loadDriver(): Promise<void> {
  loaded ??= await import('pg')
}

/** @throws Error before `loadDriver` has ended */
export function driver(): typeof Driver {
  if (loaded === undefined) throw new Error('The PostgreSQL driver is not loaded')
  return loaded
}

/** True for errors from the server; false for those of the connection. */
export const isServerError = (error: unknown): error is Driver.DatabaseError =>
  loaded !== undefined && error instanceof loaded.DatabaseError
