import { setTimeout as delay } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { DatabaseUnavailable } from '../database.ts'
import type { Connections } from './pool.ts'
import { openPool } from './pool.ts'
import { NoPrimary, type Primary } from './primary.ts'
import { isFull, isReadOnlyQuery } from './servers.ts'

/** In milliseconds; tests use less. */
export interface Beat {
  readonly everyMs: number
  readonly answerMs: number
}

/**
 * A server that vanished leaves connections that wait for its answers: nothing ends them but their own deadline, which
 * slow queries need to be long. So the server is asked all the time, and what waits for one that is gone is broken off.
 * @returns what ends it
 */
export function startHeartbeat(
  primary: Primary,
  others: readonly Connections[],
  { everyMs, answerMs }: Beat,
): () => Promise<void> {
  const own = openPool(primary, { max: 1, queryMs: answerMs })
  const ending = new AbortController()
  const beat = async () => {
    const { url } = primary
    if (await answers(own)) return
    // Only a second look can tell the server's silence from this process's own.
    primary.lost(url)
    const isThere = await primary.known().then(() => primary.url === url, hasNoRoom)
    if (!isThere) for (const connections of others) connections.cut()
  }
  const run = async () => {
    while (!ending.signal.aborted) {
      await beat()
      await delay(everyMs, undefined, { ref: false, signal: ending.signal }).catch(() => undefined)
    }
    await own.close()
  }
  const running = run()
  return () => {
    ending.abort()
    own.cut()
    return running
  }
}

/** The server lives, and others have taken all connections that it has. */
const hasNoRoom = (error: unknown): boolean => {
  if (!(error instanceof DatabaseUnavailable)) return false
  return isFull(error.cause) || (error.cause instanceof NoPrimary && error.cause.isFull)
}

/** @returns true if the server answers, and still accepts writes */
async function answers(pool: Connections): Promise<boolean> {
  let client: PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    return hasNoRoom(error)
  }
  try {
    const { rows } = await client.query(isReadOnlyQuery)
    const isPrimary = rows[0]?.transaction_read_only === 'off'
    client.release(!isPrimary)
    return isPrimary
  } catch {
    client.release(true)
    return false
  }
}
