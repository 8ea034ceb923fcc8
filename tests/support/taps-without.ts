import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { Db } from '../../src/daemon/store/database/database.ts'
import type { Pool } from '../../src/daemon/store/postgres/pool.ts'
import { tapConditions } from '../../src/daemon/store/taps/take-tap.ts'
import { databaseOf } from './postgres.ts'

type Write = typeof import('../../src/daemon/store/taps/take-tap.ts')
type ServerWrite = typeof import('../../src/daemon/store/postgres/take-tap.ts')

/** A module of its own, since statements are compiled once for each. */
const fresh = (module: string): Promise<unknown> => {
  const file = fileURLToPath(new URL(`../../src/daemon/store/${module}.ts`, import.meta.url))
  return import(/* @vite-ignore */ `${file}?${Math.random()}.ts`)
}

/** The write that takes a tap, without one of its conditions: for tests of the tests. */
export async function takeTapWithout(
  condition: string,
  { db, dataDir }: { db: Db; dataDir: string },
): Promise<Db['takeTap']> {
  const { TAPCHIP_DATABASE_URL: url } = await databaseOf(dataDir)
  if (url === undefined) {
    const write = (await fresh('taps/take-tap')) as Write
    delete write.tapConditions[condition]
    return (tap) => db.write((trx) => write.takeTapIn(trx, tap))
  }
  const { takeOn } = (await fresh('postgres/take-tap')) as ServerWrite
  return async (tap) => {
    const client = new Client({ connectionString: url })
    await client.connect()
    const pool = { connect: async () => ({ query: client.query.bind(client), release: () => undefined }) }
    const { [condition]: left } = tapConditions
    delete tapConditions[condition]
    try {
      const taking = takeOn(pool as unknown as Pool, db.read, [tap], 'waits')
      return (await taking).get(tap.seen.uid)
    } finally {
      // It was compiled before the first answer.
      if (left) tapConditions[condition] = left
      await client.end()
    }
  }
}
