import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { isJsonObject, type JsonObject, parseObject } from '../../values/json.ts'
import { linesOf } from '../../values/line-splitter.ts'
import { defineCommand } from '../command/define.ts'
import { text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { CliError, UsageError } from '../errors.ts'
import { clean } from '../io/text.ts'
import { dataDir } from '../system.ts'
import { realDir } from './daemon/choose.ts'

/**
 * The daemon's program does what needs the database itself. It ends with this command.
 * @param settings of its environment, since URLs hold passwords @param take gets each line that it prints
 * @throws CliError with what the program said
 */
const runDaemonProgram = async (
  ctx: CliContext,
  flags: readonly string[],
  settings: Readonly<Record<string, string | undefined>>,
  take: (line: JsonObject) => void,
): Promise<void> => {
  const { TAPCHIP_EPHEMERAL: _, ...env } = ctx.system.env
  const child = spawn(process.execPath, [ctx.system.daemonScript(), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    cwd: ctx.system.cwd,
    env: { ...env, ...settings },
  })
  let problem = ''
  child.stderr?.on('data', (chunk) => (problem += String(chunk)))
  const ended = new Promise<number | null>((done, failed) => child.on('error', failed).on('close', done))
  const texts = async function* () {
    for await (const chunk of child.stdout ?? []) yield String(chunk)
  }
  for await (const text of linesOf(texts())) {
    const line = parseObject(text)
    if (line) take(line)
  }
  const code = await ended
  if (code === 0) return
  const message = clean(problem.trim().replace(/^tapchipd: /, ''))
  throw new CliError(message || 'It was interrupted. Run it again: it continues.')
}

const copiedTables = (tables: unknown) =>
  (Array.isArray(tables) ? tables : [])
    .filter(isJsonObject)
    .map(({ table, rows, digest }) => ({ table: String(table), rows: Number(rows), digest: String(digest) }))

const copy = defineCommand({
  name: 'copy',
  summary: 'Copy the database of a stopped daemon to PostgreSQL, or back',
  description:
    'Copy the database of stopped daemons from a data directory to PostgreSQL, from there into a new data directory, or ' +
    'from one server to another. Then compare the number of rows and a digest of each table. An interrupted copy is ' +
    'continued by the same command; no daemon starts on the copy before it is complete. The data key is read as a daemon ' +
    'reads it, and has to be that of the source. A password is better left out of a URL, and in PGPASSWORD or ~/.pgpass.',
  examples: [
    'store copy --to postgres://tapchip@db1,db2/tapchip',
    'store copy --data-dir /var/lib/tapchip --to postgres://tapchip@db1/tapchip --json',
    'store copy --from postgres://tapchip@db1/tapchip --to /srv/tapchip',
  ],
  options: {
    to: text('--to <place>', 'The URL of an empty database, or a new data directory'),
    from: text('--from <url>', 'The URL of the database to copy (default: the one in the data directory)'),
    dataDir: text('--data-dir <dir>', 'The data directory to copy', 'file'),
  },
  run: async (ctx, { options }) => {
    if (options.from !== undefined && options.dataDir !== undefined)
      throw new UsageError('Use --from or --data-dir, not both.')
    if (options.to === undefined)
      throw new UsageError('Where to? Give --to postgres://…, or a new data directory.')
    const isUrl = (place: string) => /^postgres(ql)?:\/\//.test(place)
    const place = (path: string) => {
      if (isUrl(path)) return path
      if (/^\w+:\/\//.test(path))
        throw new UsageError(
          'Only postgres://… is known as the URL of a database. Give that, or a data directory.',
        )
      return resolve(ctx.system.cwd, path)
    }
    const from = place(options.from ?? realDir(ctx, options.dataDir ?? dataDir(ctx.system)))
    const to = place(options.to)
    await ctx.beforeChange(`Would copy ${withoutPassword(from)} to ${withoutPassword(to)}`)
    let summary: JsonObject = {}
    let label = ''
    let done = 0
    let progress: ReturnType<typeof ctx.io.progress> | undefined
    const settings = {
      TAPCHIP_COPY_FROM: from,
      TAPCHIP_COPY_TO: to,
      TAPCHIP_DATABASE_URL: undefined,
    }
    try {
      await runDaemonProgram(ctx, ['--store', 'copy'], settings, (line) => {
        if (line.event === 'copied') summary = line
        if (line.event !== 'step') return
        const name = line.step === 'copying' ? 'Copying' : 'Comparing'
        if (name !== label) {
          progress?.end()
          progress = ctx.io.progress(name, Number(line.total))
          ;[label, done] = [name, 0]
        }
        progress?.advance(Number(line.done) - done)
        done = Number(line.done)
      })
    } finally {
      progress?.end()
    }
    const { event: _, leavesChain, ...copied } = summary
    const tables = copiedTables(copied.tables)
    if (ctx.io.json) await ctx.io.one({ ...copied, equal: true }, () => ({}))
    else
      await ctx.io.list(tables, { Table: (t) => t.table, Rows: (t) => t.rows, Digest: (t) => t.digest }, '')
    ctx.io.note(
      `Copied ${Number(copied.rows).toLocaleString('en-US')} rows in ${tables.length} tables. Both sides are equal. From now on use ${copied.to} alone: a daemon on ${copied.from} would take the same taps again.`,
    )
    if (leavesChain === true)
      ctx.io.warn(
        'The embedded chain of the data directory is in files, which are not copied: its tokens stay there.',
      )
    if (isUrl(to))
      ctx.io.hint(
        'Next: start its daemons with TAPCHIP_DATABASE_URL, and the same TAPCHIP_DATA_KEY (the content of data.key)',
      )
    else ctx.io.hint(`Next: tapchip daemon start --data-dir ${to}, with the same TAPCHIP_DATA_KEY`)
  },
})

/** A password may hold any character, even an @. */
const withoutPassword = (place: string): string => place.replace(/\/\/.*@/, '//').replace(/\?.*$/, '')

const markRestored = defineCommand({
  name: 'mark-restored',
  summary: 'Mark a PostgreSQL database as restored to an earlier state',
  description:
    'After restoring a database on PostgreSQL to an earlier state, by pg_dump or to a point in time, run this before any ' +
    'daemon starts on it: taps, codes, and transactions since then are not in it. As after tapchip restore, refs, codes, ' +
    'and registrations that were open are no longer valid, and the first tap of each chip only brings its counter up to date.',
  examples: [
    'store mark-restored --yes',
    'store mark-restored --database postgres://tapchip@db1/tapchip --yes',
  ],
  options: {
    database: text('--database <url>', 'The URL of the database (default: TAPCHIP_DATABASE_URL)'),
    yes,
  },
  run: async (ctx, { options }) => {
    const url = options.database ?? ctx.system.env.TAPCHIP_DATABASE_URL
    if (!url) throw new UsageError('Which database? Give --database URL, or set TAPCHIP_DATABASE_URL.')
    const name = withoutPassword(url)
    await ctx.beforeChange(`Would end what is open in ${name}`)
    await ctx.prompts.confirm(
      options.yes,
      `End all refs, codes, and registrations in ${name}, and let the first tap of each chip only bring its counter up to date?`,
    )
    let chips = 0
    await runDaemonProgram(ctx, ['--store', 'mark-restored'], { TAPCHIP_DATABASE_URL: url }, (line) => {
      if (line.event === 'marked-restored') chips = Number(line.chips)
    })
    await ctx.io.one({ database: name, chips }, (it) => ({
      Database: it.database,
      'Chips to catch up': it.chips,
    }))
    ctx.io.note(
      'API keys and admin tokens that were revoked since are valid again, and chips that were disabled since are enabled: revoke and disable them again.',
    )
  },
})

export const verbs = [copy, markRestored]
