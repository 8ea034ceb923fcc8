import { DatabaseUnavailable, type ServerTrouble } from '../database/database.ts'
import { ReadOnlyServer } from './connection.ts'
import { isServerError } from './driver.ts'
import { NoPrimary } from './primary.ts'
import { addressOf, isLasting, isNoRoom, sqlStateOf } from './servers.ts'

/** @param url of the server that was used last; with several hosts, the reason is that host's */
export function troubleOf(error: unknown, url: string): ServerTrouble {
  const server = addressOf(url)
  const cause = error instanceof DatabaseUnavailable ? error.cause : error
  if (!(cause instanceof NoPrimary)) return { server, reason: reasonOf(cause) }
  const own = cause.reasons.find((one) => one.server === server)
  return { server, reason: own === undefined ? 'silent' : reasonOf(own.error) }
}

/** The server is alive, but others use all of its connections. */
export const isFull = (error: unknown): boolean => {
  const cause = error instanceof DatabaseUnavailable ? error.cause : error
  return cause instanceof NoPrimary ? cause.isFull : isNoRoom(cause)
}

const readOnly = '25006'

function reasonOf(error: unknown): ServerTrouble['reason'] {
  if (isNoRoom(error)) return 'no_room'
  if (error instanceof ReadOnlyServer || sqlStateOf(error) === readOnly) return 'read_only'
  if (isServerError(error) || isLasting(error)) return 'refused'
  const { code = '', message = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  return code === 'ETIMEDOUT' || message.includes('timeout') ? 'silent' : 'down'
}
