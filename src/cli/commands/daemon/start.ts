import { resolve } from 'node:path'
import { readRegular } from '../../../values/files.ts'
import { isLoopback } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, flag, integer, text, type Values } from '../../command/options.ts'
import { defaultUrl } from '../../config.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import { isRunning, isSameAddress, readRecords, recordIn } from '../../local-daemon.ts'
import { dataDir, stateDir } from '../../system.ts'
import { assertLocal, realDir, requestedDaemon } from './choose.ts'
import { keepStarted, launch, prepareStarted } from './launch.ts'

const levels = ['trace', 'debug', 'info', 'warn', 'error'] as const

export const options = {
  host: text('--host <address>', 'Where to listen (default: 127.0.0.1)'),
  port: integer('--port <port>', '0 picks a free one (default: 8484)', [0, 65_535]),
  dataDir: text('--data-dir <dir>', 'Where to keep all data', 'file'),
  baseUrl: text('--base-url <url>', 'The address in the URLs of chips'),
  config: text('--config <file>', 'Settings in JSON', 'file'),
  seed: text('--seed <file>', 'A seed file: creates what does not exist yet', 'file'),
  ephemeral: flag('--ephemeral', 'Keep nothing after it stops'),
  logLevel: choice('--log-level <level>', 'How much to log', levels),
}
type Options = Values<typeof options>

export const start = defineCommand({
  name: 'start',
  summary: 'Start the daemon in the background, and wait until it is ready',
  description:
    'Start a daemon in the background, and wait until it is ready. Each data directory has one daemon, and several can ' +
    'run side by side. If it is already running, nothing is started; if it runs with different flags, that is an error. ' +
    'An ephemeral daemon counts as the same one if all its flags match.',
  examples: [
    'daemon start',
    'daemon start --port 9000 --data-dir /srv/tapchip',
    'daemon start --ephemeral --seed fixtures/demo.json --json',
  ],
  options,
  run: async (ctx, { options }) => {
    const address = addressFor(ctx, options)
    const flags = flagsFrom(ctx, options, address)
    const running = findRunning(ctx, { options, flags, address })
    if (running) return reportRunning(ctx, running, flags)
    const chosen = realDir(ctx, options.dataDir ?? dataDir(ctx.system))
    const isInSettings = !options.dataDir && !!(options.config ?? ctx.system.env.TAPCHIP_CONFIG)
    if (address !== undefined && !options.ephemeral && !isInSettings) assertDirFitsContext(ctx, chosen)
    await ctx.beforeChange(`Would run ${['tapchipd', ...flags].join(' ')}`)
    // The data of an ephemeral daemon is deleted when it stops; its log should stay.
    const logFile = options.ephemeral ? freeLog(ctx) : `${chosen}/daemon.log`
    prepareStarted(ctx.system)
    const ready = await launch(ctx, { flags, logFile })
    const place = realDir(ctx, ready.dataDir)
    keepStarted(ctx.system, { dataDir: place, logFile, flags })
    const startedAt = recordIn(place)?.startedAt ?? ctx.now().toISOString()
    await ctx.io.one({ ...ready, logFile, startedAt, started: true }, (it) => ({
      Daemon: it.url,
      Pid: it.pid,
      Data: it.dataDir,
      Log: it.logFile,
    }))
    if (ctx.config().url !== ready.url && new URL(ctx.config().url).origin !== new URL(ready.url).origin) {
      ctx.io.note(`Other commands use ${ctx.config().url}. To use this one: export TAPCHIP_URL=${ready.url}`)
    } else ctx.io.hint(`Next: tapchip doctor${(await hasTeam(ctx)) ? '' : ' · tapchip teams create NAME'}`)
  },
})

/** The address in use, if no flag of this command contradicts it. */
const addressFor = (ctx: CliContext, options: Options): URL | undefined => {
  const requested = requestedDaemon(ctx, undefined)
  if (requested.url === undefined) return undefined
  const url = new URL(requested.url)
  const { host, port, dataDir: dir, ephemeral } = options
  const isOther = port !== undefined && port !== portOf(url)
  const isAsked = !!ctx.flags.url || !!ctx.flags.context
  if (isAsked && isOther)
    throw new UsageError(
      `${ctx.config().origin} says ${requested.url}, but --port ${port} contradicts it. Nothing was started.`,
      'Leave one of them out.',
    )
  if (isAsked || ((host ?? port ?? dir) === undefined && !ephemeral)) assertLocal(ctx, requested)
  return isOther || host !== undefined || !isLoopback(url.hostname) ? undefined : url
}

/** @throws UsageError if the context has keys for another daemon: they would not be sent to this one */
const assertDirFitsContext = (ctx: CliContext, dir: string): void => {
  const { instance, contextName, url } = ctx.config()
  if (instance === undefined) return
  const runningInstance = instanceIn(dir)
  if (runningInstance === instance) return
  const what = runningInstance === undefined ? 'is new' : 'belongs to another daemon'
  throw new UsageError(
    `The context "${contextName}" has keys for the daemon that was at ${url}, but ${dir} ${what}. Nothing was started.`,
    'To start that daemon: tapchip daemon start --data-dir DIR. To start another one beside it: --data-dir OTHER --port 0',
  )
}

const instanceIn = (dir: string): string | undefined => {
  try {
    return readRegular(`${dir}/instance`).trim() || undefined
  } catch {
    return undefined
  }
}

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80))

export const flagsFrom = (ctx: CliContext, options: Options, address: URL | undefined): readonly string[] => {
  const path = (file: string | undefined) => file && resolve(ctx.system.cwd, file)
  const { env } = ctx.system
  const isSet = options.config !== undefined || !!env.TAPCHIP_PORT || !!env.TAPCHIP_CONFIG
  const port = address === undefined || isSet ? undefined : portOf(address)
  const pairs = {
    host: options.host,
    port: options.port ?? (port === portOf(new URL(defaultUrl)) ? undefined : port),
    'data-dir': path(options.dataDir),
    'base-url': options.baseUrl,
    config: path(options.config),
    seed: path(options.seed),
    'log-level': options.logLevel,
  }
  const flags = Object.entries(pairs).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  )
  return options.ephemeral ? [...flags, '--ephemeral'] : flags
}

interface RunningQuery {
  readonly options: Options
  readonly flags: readonly string[]
  readonly address: URL | undefined
}

type Running = ReturnType<typeof readRecords>[number]

const findRunning = (ctx: CliContext, { options, flags, address }: RunningQuery): Running | undefined => {
  const running = readRecords(ctx.system).filter(isRunning)
  const isSame = ({ started }: Running) => started.flags.join('\n') === flags.join('\n')
  const dir = options.dataDir ?? ctx.system.env.TAPCHIP_DATA_DIR
  // The data directory is known only once it runs.
  if (options.ephemeral || (options.config !== undefined && dir === undefined)) return running.find(isSame)
  const place = realDir(ctx, dir ?? dataDir(ctx.system))
  const isPresent = ({ url, started }: Running) =>
    dir === undefined && address && isSameAddress(url, address.href) && !started.flags.includes('--ephemeral')
  return running.find((record) => record.dataDir === place) ?? running.find(isPresent)
}

/** @throws CliError if it was started with other flags than those given now */
const reportRunning = async (ctx: CliContext, record: Running, flags: readonly string[]): Promise<void> => {
  const others = differingFlags(record, flags)
  if (others.length > 0) {
    const flagText = record.started.flags.map(shellQuoted).join(' ') || 'no flags'
    throw new CliError(
      `A daemon with different flags is running on ${record.dataDir}, at ${record.url}: it was started with ${flagText}, not with ${others.map(shellQuoted).join(' ')}. Nothing was started.`,
      {
        advice: `Stop it first: tapchip daemon stop --data-dir ${shellQuoted(record.dataDir)} · To start another one beside it: --data-dir OTHER --port 0`,
      },
    )
  }
  const { pid, url, dataDir: place, startedAt } = record
  const { logFile } = record.started
  await ctx.io.one({ pid, url, dataDir: place, logFile, startedAt, started: false }, (it) => ({
    Daemon: it.url,
    Pid: it.pid,
    'Running since': it.startedAt,
  }))
  ctx.io.note('It is already running.')
  // If there are several, the bare command would be ambiguous.
  const which = place === realDir(ctx, dataDir(ctx.system)) ? '' : ` --data-dir ${shellQuoted(place)}`
  ctx.io.hint(`Stop it: tapchip daemon stop${which}`)
}

/** Flags that are given now and differ. A flag that is left out matches anything, and so does port 0. */
const differingFlags = (
  { started: { flags: startFlags }, url }: Running,
  flags: readonly string[],
): string[] => {
  const port = String(portOf(new URL(url)))
  const isSo = (name: string, value: string): boolean => {
    if (name === '--port') return value === '0' || value === port
    // The daemon was found by its directory, however the path is written.
    if (name === '--data-dir') return true
    return startFlags.some((flag, i) => flag === name && startFlags[i + 1] === value)
  }
  return flags.flatMap((name, i) => {
    const value = flags[i + 1] ?? ''
    return name.startsWith('--') && name !== '--ephemeral' && !isSo(name, value) ? [name, value] : []
  })
}

const freeLog = (ctx: CliContext): string => {
  const used = new Set(
    readRecords(ctx.system).flatMap((record) => (isRunning(record) ? [record.started.logFile] : [])),
  )
  let logFile = `${stateDir(ctx.system)}/daemon.log`
  for (let n = 2; used.has(logFile); n += 1) logFile = `${stateDir(ctx.system)}/daemon-${n}.log`
  return logFile
}

/** True also if the daemon does not say: then it is already set up. */
const hasTeam = async (ctx: CliContext): Promise<boolean> => {
  if (ctx.io.json || ctx.flags.quiet) return true
  try {
    return (await ctx.call('GET /admin/status')).counts.teams > 0
  } catch {
    return true
  }
}
