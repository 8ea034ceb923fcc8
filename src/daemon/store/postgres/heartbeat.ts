import { setTimeout as delay } from 'node:timers/promises'
import type { ServerTrouble } from '../database/database.ts'
import type { Pool } from './pool.ts'
import type { Primary } from './primary.ts'
import { serverTrouble } from './state.ts'
import { isFull } from './trouble.ts'

/** In milliseconds; tests use less. */
export interface HeartbeatOptions {
  readonly everyMs: number
  readonly answerMs: number
}

/**
 * A server that vanished leaves connections that wait for its answers: nothing ends them but their own deadline,
 * which slow queries need to be long. So the server is probed all the time, and pending queries to a dead server are
 * aborted.
 * @param changed called when the server is lost, and with undefined when it is back
 * @returns a function that stops it
 */
export function startHeartbeat(
  primary: Primary,
  pool: Pool,
  { everyMs, answerMs }: HeartbeatOptions,
  changed: (trouble: ServerTrouble | undefined) => void,
): () => Promise<void> {
  const ending = new AbortController()
  let isLost = false
  const note = (trouble: ServerTrouble | undefined) => {
    const wasLost = isLost
    isLost = trouble !== undefined
    if (isLost !== wasLost && !ending.signal.aborted) changed(trouble)
  }
  const checkServer = async () => {
    const { url } = primary
    const trouble = await serverTrouble(pool, answerMs)
    if (trouble === undefined) return note(undefined)
    // Only a second probe can distinguish the server's silence from a pause of this process.
    primary.markLost(url)
    const look = await primary.known().then(
      () => (primary.url === url ? 'there' : 'elsewhere'),
      (error: unknown) => (isFull(error) ? 'full' : 'gone'),
    )
    if (look === 'gone' || look === 'full') note(trouble)
    if (look === 'gone' || look === 'elsewhere') pool.cut()
  }
  const run = async () => {
    while (!ending.signal.aborted) {
      await checkServer()
      await delay(everyMs, undefined, { ref: false, signal: ending.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return () => {
    ending.abort()
    return running
  }
}
