import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { type JsonObject, parseObject } from '../../../values/json.ts'
import { LineSplitter } from '../../../values/line-splitter.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, flag, integer, moment } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { readRecords } from '../../daemon-record.ts'
import { CliError } from '../../errors.ts'
import { clean } from '../../io/text.ts'
import { dataDir } from '../../system.ts'
import { chooseDaemon, dataDirFlag, isMatch, wantedDaemon } from './choose.ts'

const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50 } as const
const levelNames = ['trace', 'debug', 'info', 'warn', 'error'] as const

export const logs = defineCommand({
  name: 'logs',
  summary: 'Show the log of the daemon on this machine',
  examples: [
    'daemon logs',
    'daemon logs -f --level warn',
    'daemon logs --since 2h --level error',
    "daemon logs --json | jq -c 'select(.level >= 40)'",
  ],
  options: {
    ...dataDirFlag,
    follow: flag('-f, --follow', 'Follow the log until interrupted'),
    lines: integer(
      '-n, --lines <n>',
      'Number of lines at the end (default: 100; all with --since)',
      [0, 1_000_000],
    ),
    since: moment('--since <when>', 'Only from then on', 'ago'),
    level: choice('--level <level>', 'Only this level and above', levelNames),
  },
  run: async (ctx, { options }) => {
    const path = logOf(ctx, options.dataDir)
    if (!existsSync(path)) {
      throw new CliError(`There is no log at ${path}.`, {
        advice: 'Under systemd: journalctl -u tapchip. Otherwise: tapchip daemon start',
      })
    }
    const least = options.level === undefined ? 0 : levels[options.level]
    const since = options.since === undefined ? 0 : Date.parse(options.since(ctx.now()))
    const file = openSync(path, 'r')
    const decoder = new StringDecoder('utf8')
    let position = 0
    const splitter = new LineSplitter()
    const grown = (): string[] => {
      const { size } = fstatSync(file)
      const bytes = Buffer.alloc(Math.max(0, size - position))
      position += readSync(file, bytes, 0, bytes.length, position)
      const lines = splitter.push(decoder.write(bytes))
      return lines.filter((line) => levelOf(line) >= least && timeOf(line) >= since)
    }
    const lines = grown()
    const wanted = options.lines ?? (options.since === undefined ? 100 : lines.length)
    for (const line of wanted === 0 ? [] : lines.slice(-wanted)) await print(ctx, line)
    let ended = !options.follow
    const stopListening = ctx.system.interrupts.listen(() => {
      ended = true
    })
    while (!ended) {
      await new Promise((done) => setTimeout(done, 200))
      for (const line of grown()) await print(ctx, line)
    }
    stopListening()
    closeSync(file)
  },
})

/** The log of the running daemon, or of the last one that ran. */
const logOf = (ctx: CliContext, dir: string | undefined): string => {
  const wanted = wantedDaemon(ctx, dir)
  const record =
    chooseDaemon(ctx, wanted) ?? readRecords(ctx.system).find((candidate) => isMatch(candidate, wanted))
  return record?.logFile ?? `${wanted.dataDir ?? dataDir(ctx.system)}/daemon.log`
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
