import { setTimeout as delay } from 'node:timers/promises'
import type { Client, QueryConfig } from 'pg'
import { driver, loadDriver } from './driver.ts'
import { common, connectMs } from './servers.ts'

/** The server refuses writes: it is a standby, or set to read-only. */
export class ReadOnlyServer extends Error {
  override readonly name = 'ReadOnlyServer'
  constructor() {
    super('accepts no writes')
  }
}

/** Connects to a server that accepts writes. @throws DatabaseError, ReadOnlyServer, network errors */
export async function connectTo(url: string): Promise<Client> {
  await loadDriver()
  const client = new (driver().Client)({ ...common, connectionString: url })
  // Queries and the event `end` report errors.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await assertWritable(client)
    return client
  } catch (error) {
    void end(client)
    throw error
  }
}

/**
 * Checks that the server is no standby, which accepts connections too. @throws ReadOnlyServer, DatabaseError, errors
 * of the network
 */
export async function assertWritable(
  client: { query(query: QueryConfig): Promise<{ rows: unknown[] }> },
  withinMs = connectMs,
): Promise<void> {
  // Missing in the driver's types.
  const query = { text: 'show transaction_read_only', query_timeout: withinMs }
  const [row] = (await client.query(query)).rows as { transaction_read_only: string }[]
  if (row?.transaction_read_only !== 'off') throw new ReadOnlyServer()
}

/** Without a goodbye message, because the server may not be listening. */
export function breakOff(client: Client): void {
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } }
  connection?.stream?.destroy()
}

/** A server that does not answer does not say goodbye either. */
const goodbyeMs = 1000

export async function end(client: Client): Promise<void> {
  const ended = client.end().catch(() => undefined)
  await Promise.race([ended, delay(goodbyeMs, undefined, { ref: false })])
  breakOff(client)
}
