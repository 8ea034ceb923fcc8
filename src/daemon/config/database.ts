import { ConfigProblem } from './problem.ts'

interface ServerSettings {
  readonly databaseUrl?: string | undefined
  readonly dataKey?: string | undefined
  readonly ephemeral: boolean
}

/** @throws ConfigProblem if the settings do not go with a database on a server */
export function assertServerSettings({ databaseUrl, dataKey, ephemeral }: ServerSettings): void {
  if (databaseUrl === undefined) return
  if (ephemeral)
    throw new ConfigProblem(
      '--ephemeral keeps nothing, and a database on a server (databaseUrl, TAPCHIP_DATABASE_URL) is kept: leave one of them out.',
    )
  if (dataKey === undefined)
    throw new ConfigProblem(
      'A database on a server (databaseUrl, TAPCHIP_DATABASE_URL) needs the data key in TAPCHIP_DATA_KEY, the same for all its daemons: 64 hex digits. Make the first by: openssl rand -hex 32',
    )
}
