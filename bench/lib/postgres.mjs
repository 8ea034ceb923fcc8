import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../../scripts/postgres-server.mjs'
import { postgresBin } from '../../scripts/test-tools.mjs'

const run = promisify(execFile)

/** A durable server with a database, and queries on it. */
export async function startDatabase(given = {}) {
  // As a small server is set up for production: the defaults are for a machine of 128 MB.
  const settings = { shared_buffers: '1GB', max_wal_size: '4GB', checkpoint_timeout: '15min', ...given }
  const server = await startPostgres({ durable: true, settings })
  const on = async (database, query, values) => {
    const client = new pg.Client({ connectionString: `${server.url}/${database}` })
    await client.connect()
    try {
      return (await client.query(query, values)).rows
    } finally {
      await client.end()
    }
  }
  await on('postgres', 'create database bench')
  return {
    ...server,
    database: `${server.url}/bench`,
    ask: (query, values) => on('bench', query, values),
    env: { TAPCHIP_DATABASE_URL: `${server.url}/bench`, TAPCHIP_DATA_KEY: '0f'.repeat(32) },
  }
}

/**
 * A statement for pgbench: variables in the place of parameters, since it knows no others.
 * @param variables by value @returns one line
 */
export function scriptOf({ text, values }, variables) {
  const literal = (value) =>
    Array.isArray(value)
      ? `array[${value.map((one) => variables.get(one) ?? literal(one))}]`
      : value === null
        ? 'null'
        : typeof value === 'number'
          ? String(value)
          : textOf(`'${String(value).replaceAll("'", "''")}'`)
  /** Also finds them within JSON. What follows a colon would be a variable to pgbench. */
  const textOf = (quoted) =>
    [...variables].reduce(
      (text, [value, name]) => text.replaceAll(value, `' || cast(${name} as text) || '`),
      quoted.replace(/:(?=\w)/g, `:' || '`),
    )
  const filled = text.replace(/\$(\d+)/g, (_, number) => {
    const value = values[Number(number) - 1]
    return variables.get(value) ?? `(${literal(value)})`
  })
  return `${filled.replace(/\s+/g, ' ')};`
}

/** @returns transactions a second */
export async function pgbench({ port }, { dir, script, clients, seconds, variables = {} }) {
  const file = join(dir, 'pgbench.sql')
  writeFileSync(file, script)
  const given = Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`])
  const options = [
    '-n',
    '-M',
    'prepared',
    '-c',
    String(clients),
    '-j',
    '1',
    '-T',
    String(seconds),
    '-f',
    file,
  ]
  const where = ['-h', '127.0.0.1', '-p', String(port), '-U', 'tapchip', 'bench']
  const { stdout } = await run(join(postgresBin(), 'pgbench'), [...options, ...given, ...where])
  const failed = /number of failed transactions: ([1-9]\d*)/.exec(stdout)
  if (failed) throw new Error(`pgbench: ${failed[0]}`)
  return Number(/tps = ([\d.]+) \(without/.exec(stdout)?.[1])
}
