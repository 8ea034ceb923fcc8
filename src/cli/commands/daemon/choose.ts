import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isLoopback } from '../../client/errors.ts'
import { text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import {
  type DaemonRecord,
  installedServices,
  isRunning,
  isSameAddress,
  readRecords,
  recordIn,
  type Service,
} from '../../local-daemon.ts'

export const dataDirFlag = {
  dataDir: text('--data-dir <dir>', 'The daemon with this data directory', 'file'),
}

/** The selected daemon of this machine: by data directory, by address, by both, or by neither. */
export interface DaemonChoice {
  readonly dataDir?: string
  readonly url?: string
  /** An address comes from a flag, the environment or a context. */
  readonly isByAddress: boolean
}

/** Absolute and without links, so that directories can be compared. */
export const realDir = (ctx: CliContext, dir: string): string => {
  const path = resolve(ctx.system.cwd, dir)
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Flags take precedence over the environment, and that over the current context. */
export const requestedDaemon = (ctx: CliContext, dataDir: string | undefined): DaemonChoice => {
  const { flags, system } = ctx
  const { env } = system
  const where = (dir: string | undefined, isByAddress: boolean): DaemonChoice => ({
    ...(dir ? { dataDir: realDir(ctx, dir) } : {}),
    ...(isByAddress ? placeAt(ctx) : {}),
    isByAddress,
  })
  if (dataDir || flags.url || flags.context) return where(dataDir, !!flags.url || !!flags.context)
  const hasAddress = !!env.TAPCHIP_URL || !!env.TAPCHIP_CONTEXT
  if (env.TAPCHIP_DATA_DIR || hasAddress) return where(env.TAPCHIP_DATA_DIR, hasAddress)
  return where(undefined, ctx.config().contextName !== undefined)
}

/** For a public daemon of this machine, the address may be that of its chips: it is found by its socket. */
const placeAt = (ctx: CliContext): Pick<DaemonChoice, 'dataDir' | 'url'> => {
  const { url, adminUrl } = ctx.config()
  const socket = isLoopback(new URL(url).hostname) ? undefined : /^unix:(.+)$/.exec(adminUrl())?.[1]
  const dir = socket && dirname(socket)
  return dir && existsSync(join(dir, 'daemon.lock')) ? { dataDir: realDir(ctx, dir) } : { url }
}

export const isMatch = (
  record: DaemonRecord,
  { dataDir, url }: Pick<DaemonChoice, 'dataDir' | 'url'>,
): boolean =>
  (dataDir === undefined || record.dataDir === dataDir) &&
  (url === undefined || isSameAddress(record.url, url))

/** If nothing says which daemon, and `daemon start` started none: the installed service that serves. */
export const withServiceFallback = (ctx: CliContext, choice: DaemonChoice): DaemonChoice => {
  if (choice.dataDir !== undefined || choice.isByAddress || readRecords(ctx.system).some(isRunning))
    return choice
  const dirs = installedServices(ctx.system).flatMap((service) => service.dataDir ?? [])
  const dir = dirs.find((dir) => runningIn(dir) !== undefined)
  return dir === undefined ? choice : { ...choice, dataDir: realDir(ctx, dir) }
}

/** The installed service that has a data directory, or any if none is named. */
export const serviceOf = (ctx: CliContext, dir: string | undefined): Service | undefined =>
  installedServices(ctx.system).find(
    ({ dataDir }) =>
      dir === undefined || (dataDir !== undefined && realDir(ctx, dataDir) === realDir(ctx, dir)),
  )

/** The daemon that runs on a data directory, whoever started it. */
export const runningIn = (dataDir: string): DaemonRecord | undefined => {
  const record = recordIn(dataDir)
  return record && isRunning(record) ? record : undefined
}

/** The running daemon that is meant. @throws UsageError if several match, or it is on another machine */
export const chooseDaemon = (ctx: CliContext, choice: DaemonChoice): DaemonRecord | undefined => {
  const running: DaemonRecord[] = readRecords(ctx.system).filter(isRunning)
  const named = choice.dataDir === undefined ? undefined : runningIn(choice.dataDir)
  if (named && !running.some(({ dataDir }) => dataDir === named.dataDir)) running.push(named)
  const meant = running.filter((record) => isMatch(record, choice))
  if (meant.length === 0) assertLocal(ctx, choice)
  if (meant.length <= 1) return meant[0]
  throw new UsageError(
    `Several daemons run on this machine:\n${meant.map(({ url, dataDir }) => `  ${url}  ${dataDir}`).join('\n')}`,
    `Specify which: --url URL or --data-dir DIR, as --data-dir ${shellQuoted(meant[0]?.dataDir ?? '')}`,
  )
}

/** @throws UsageError if the address is on another machine */
export const assertLocal = (ctx: CliContext, { url }: Pick<DaemonChoice, 'url'>): void => {
  if (url === undefined || isLoopback(new URL(url).hostname)) return
  throw new UsageError(
    `The daemon at ${url} (${ctx.config().origin}) is not on this machine.`,
    'For a daemon on this machine: --url http://127.0.0.1:PORT or --data-dir DIR (tapchip daemon status --all)',
  )
}
