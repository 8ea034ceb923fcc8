import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type JsonObject, parseObject } from '../../../values/json.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, flag, integer, moment, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { clean, shellQuoted } from '../../io/text.ts'
import {
  type DaemonRecord,
  localDaemonAt,
  readRecords,
  readStarted,
  type Service,
} from '../../local-daemon.ts'
import { dataDir } from '../../system.ts'
import {
  chooseDaemon,
  dataDirFlag,
  isMatch,
  requestedDaemon,
  serviceOf,
  withServiceFallback,
} from './choose.ts'
import { fromFile, fromJournal } from './log-source.ts'

const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50 } as const
const levelNames = ['trace', 'debug', 'info', 'warn', 'error'] as const

export const logs = defineCommand({
  name: 'logs',
  summary: 'Show the log of the daemon on this machine',
  examples: [
    'daemon logs',
    'daemon logs -f --level warn',
    'daemon logs --since 2h --level error',
    'daemon logs --request qYx3Zk-1f',
    "daemon logs --json | jq -c 'select(.level >= 40)'",
  ],
  options: {
    ...dataDirFlag,
    follow: flag('-f, --follow', 'Follow the log until interrupted'),
    lines: integer(
      '-n, --lines <n>',
      'Number of lines at the end (default: 100; all with --since or --request)',
      [0, 1_000_000],
    ),
    since: moment('--since <when>', 'Only from then on', 'ago'),
    level: choice('--level <level>', 'Only this level and above', levelNames),
    request: text('--request <id>', 'Only lines about this request (requestId in an error)'),
  },
  run: async (ctx, { options }) => {
    const log = await logOf(ctx, options.dataDir)
    const minLevel = options.level === undefined ? 0 : levels[options.level]
    const since = options.since === undefined ? 0 : Date.parse(options.since(ctx.now()))
    const { request } = options
    const isMatch = (line: string) =>
      levelOf(line) >= minLevel && timeOf(line) >= since && (request === undefined || isAbout(line, request))
    const isFiltered = request !== undefined || minLevel > 0
    const maxLines =
      options.lines ?? (options.since === undefined && request === undefined ? 100 : Number.POSITIVE_INFINITY)
    const last: string[] = []
    const keep = (line: string) => {
      if (!isMatch(line) || maxLines === 0) return
      last.push(line)
      if (last.length > maxLines) last.shift()
    }
    const query = { ctx, since, lines: isFiltered ? Number.POSITIVE_INFINITY : maxLines }
    const rest = 'path' in log ? fromFile(log.path, keep) : await fromJournal(log, query, keep)
    for (const line of last) await print(ctx, line)
    if (request !== undefined && last.length === 0 && !options.follow)
      throw new CliError(`The log has no line about the request ${clean(request)}.`, {
        advice:
          "Check the id, and the daemon: tapchip daemon status --all. A container's log is its standard error.",
      })
    if (!options.follow) return rest.close()
    const more = new AbortController()
    const stopListening = ctx.system.interrupts.listen(() => more.abort())
    await rest.follow(more.signal, async (line) => {
      if (isMatch(line)) await print(ctx, line)
    })
    stopListening()
    rest.close()
  },
})

/** The last lines, parsed where they are JSON. @throws CliError if there is no log */
export const recentLines = async (ctx: CliContext, maxLines: number): Promise<unknown[]> => {
  const last: string[] = []
  const keep = (line: string) => {
    last.push(line)
    if (last.length > maxLines) last.shift()
  }
  const log = await logOf(ctx, undefined)
  const rest =
    'path' in log
      ? fromFile(log.path, keep)
      : await fromJournal(log, { ctx, since: 0, lines: maxLines }, keep)
  rest.close()
  return last.map((line) => parseObject(line) ?? line)
}

/** The log of the daemon that is meant, of its service, or of the last one that ran: never that of another daemon. */
const logOf = async (
  ctx: CliContext,
  dir: string | undefined,
): Promise<{ readonly path: string } | Service> => {
  const request = withServiceFallback(ctx, requestedDaemon(ctx, dir))
  const { instance, url, origin } = ctx.config()
  const isMeant = (record: DaemonRecord) =>
    !request.isByAddress || instance === undefined || record.instance === '' || record.instance === instance
  const running = chooseDaemon(ctx, request)
  if (running && !isMeant(running))
    throw new CliError(`The daemon at ${url} is not the one that the ${origin} names.`, {
      advice: `To read its log: tapchip daemon logs --url ${shellQuoted(url)}`,
    })
  const place = request.dataDir ?? (request.isByAddress ? dirOfOwn(ctx, url) : undefined)
  const isElsewhere = request.isByAddress && place === undefined
  const service = running?.started || isElsewhere ? undefined : serviceOf(ctx, place ?? running?.dataDir)
  if (service) return service
  const record =
    running ?? readRecords(ctx.system).find((candidate) => isMatch(candidate, request) && isMeant(candidate))
  // One that ended had the address before the daemon that answers now.
  const isOfAnother = request.isByAddress && !running && record !== undefined && (await isAnswered(ctx))
  if (isOfAnother || (isElsewhere && record === undefined))
    throw new CliError(`There is no log of the daemon at ${url} (${origin}) on this machine.`, {
      advice: "It is that daemon's standard error. Daemons on this machine: tapchip daemon status --all",
    })
  // The directory of an ephemeral daemon is gone with its record, and its log is not.
  const ended = record || place !== undefined ? undefined : readStarted(ctx.system)[0]
  const { logFile } = record?.started ?? ended ?? {}
  const path = logFile ?? `${record?.dataDir ?? place ?? dataDir(ctx.system)}/daemon.log`
  if (existsSync(path)) return { path }
  throw new CliError(`There is no log at ${path}.`, {
    advice:
      'If the daemon is a service of this machine: sudo tapchip daemon logs. If it runs in the foreground, its log is where it was started. If none was started yet: tapchip daemon start',
  })
}

const isAnswered = async (ctx: CliContext): Promise<boolean> =>
  (await ctx.client()).instance().then(
    (instance) => instance !== undefined,
    () => false,
  )

/** The data directory of a daemon of this machine that nobody started with `daemon start`. */
const dirOfOwn = (ctx: CliContext, url: string): string | undefined => {
  const daemon = localDaemonAt(ctx.system, url)
  return daemon && dirname(daemon.socket)
}

const isAbout = (line: string, request: string): boolean => {
  const { requestId, reqId } = line.includes(request) ? parse(line) : {}
  return requestId === request || reqId === request
}

const parse = (line: string): JsonObject => parseObject(line) ?? {}

/** A line that is not JSON comes from a crash, and is always shown. */
const levelOf = (line: string): number => {
  const { level } = parse(line)
  return typeof level === 'number' ? level : levels[levelNames.find((name) => name === level) ?? 'error']
}

/** A line without a time, such as that of a crash, is always shown. */
const timeOf = (line: string): number => {
  const { time } = parse(line)
  const ms = typeof time === 'number' ? time : Date.parse(String(time))
  return Number.isNaN(ms) ? Number.POSITIVE_INFINITY : ms
}

const print = async (ctx: CliContext, line: string): Promise<void> => {
  if (ctx.io.json) return ctx.io.raw(`${line}\n`)
  const { time, level, msg, requestId, reqId, ...more } = parse(line)
  if (more.event === 'ready') return ctx.io.raw(`${clean(`ready at ${more.url} (process ${more.pid})`)}\n`)
  if (msg === undefined && level === undefined) return ctx.io.raw(`${clean(line)}\n`)
  const at = typeof time === 'number' ? new Date(time).toISOString() : String(time ?? '')
  const name = levelNames.find((known) => levels[known] === level) ?? String(level ?? '')
  const { pid, hostname, ...rest } = more
  const detail = Object.keys(rest).length === 0 ? '' : ` ${JSON.stringify(rest)}`
  const id = requestId ?? reqId
  return ctx.io.raw(
    `${clean(`${at} ${name.padEnd(5)} ${String(msg ?? '')}${id ? ` [${id}]` : ''}${detail}`)}\n`,
  )
}
