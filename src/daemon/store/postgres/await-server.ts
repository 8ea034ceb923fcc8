import { DatabaseUnavailable } from '../database/database.ts'
import { NoPrimary, Primary } from './primary.ts'
import { nameOfDatabase, serversOf } from './servers.ts'

/** The database server cannot be used, and the message says what to do. */
export class ServerProblem extends Error {
  override readonly name = 'ServerProblem'
  /** Waiting longer does not help: the settings have to change. */
  readonly isLasting: boolean
  constructor(message: string, { isLasting, cause }: { isLasting: boolean; cause: unknown }) {
    super(message, { cause })
    this.isLasting = isLasting
  }
}

interface AwaitOptions {
  /** In milliseconds. */
  readonly patienceMs: number
  /** Called once, when the server is not there at first. @param why without the password */
  readonly waiting: (why: string) => void
  readonly stopped?: AbortSignal | undefined
  /** Where the URL comes from, for people: TAPCHIP_DATABASE_URL for a daemon. */
  readonly setting?: string
}

/** Waits until a host of the database accepts writes. @throws ServerProblem */
export async function awaitServer(url: string, of: AwaitOptions): Promise<void> {
  const { patienceMs, waiting, stopped, setting = 'TAPCHIP_DATABASE_URL' } = of
  const again = of.setting === undefined ? 'start the daemon again' : 'run this again'
  const name = nameOfDatabase(url)
  const until = performance.now() + patienceMs
  let isReported = false
  for (;;) {
    const primary = new Primary(serversOf(url))
    primary.markLost(primary.url)
    try {
      return await primary.known()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable && error.cause instanceof NoPrimary)) throw error
      const { message: why, isLasting } = error.cause
      if (isLasting)
        throw new ServerProblem(
          `The database ${name} cannot be used: ${why}. Check ${setting} (user, password, database, sslmode), and that the server accepts this machine (pg_hba.conf).`,
          { isLasting, cause: error },
        )
      if (stopped?.aborted || performance.now() > until)
        throw new ServerProblem(
          `The database ${name} could not be reached: ${why}. Start it, or correct ${setting}; then ${again}.`,
          { isLasting, cause: error },
        )
      if (!isReported) waiting(why)
      isReported = true
    }
  }
}
