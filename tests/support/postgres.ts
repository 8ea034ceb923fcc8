import { createHash } from 'node:crypto'
import { Client } from 'pg'

/** The test server's URL if the tests run on PostgreSQL; see scripts/test-postgres.mjs. */
export const server = process.env.TAPCHIP_TEST_POSTGRES

export const isPostgres = server !== undefined

export const testDataKey = '0f'.repeat(32)

/** @returns the first row's answer */
export async function onServer<T>(
  ask: (client: Client) => Promise<T>,
  database = 'postgres',
  on = server,
): Promise<T> {
  const client = new Client({ connectionString: `${on}/${database}` })
  await client.connect()
  try {
    return await ask(client)
  } finally {
    await client.end()
  }
}

const urlOf = (database: string): string => `${server}/${database}`

const nameOf = (dataDir: string): string =>
  `t_${createHash('sha256').update(dataDir).digest('hex').slice(0, 20)}`

const made = new Set<string>()

/** Settings that put a daemon on a database of its own, the same for the same data directory; none on SQLite. */
export async function databaseOf(dataDir: string): Promise<Record<string, string>> {
  if (!isPostgres) return {}
  const name = nameOf(dataDir)
  if (!made.has(name)) {
    await onServer(async (client) => {
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
      if (rowCount === 0) await client.query(`create database ${name} template tapchip_empty`)
    })
    made.add(name)
  }
  return { TAPCHIP_DATABASE_URL: urlOf(name), TAPCHIP_DATA_KEY: testDataKey }
}

export async function dropDatabaseOf(dataDir: string): Promise<void> {
  if (!isPostgres) return
  made.delete(nameOf(dataDir))
  await onServer((client) => client.query(`drop database if exists ${nameOf(dataDir)} with (force)`))
}
