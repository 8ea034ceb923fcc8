import { resolve } from 'node:path'
import type { JsonObject } from '../../../values/json.ts'
import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { dataDir } from '../../system.ts'
import { realDir } from '../daemon/choose.ts'
import { runDaemonProgram } from './daemon-program.ts'

interface CopiedTable {
  readonly table: string
  readonly rows: number
  readonly digest: string
}

export const copy = defineCommand({
  name: 'copy',
  summary: 'Copy the database of a stopped daemon to PostgreSQL, or back',
  description:
    'Copy the database of stopped daemons from a data directory to PostgreSQL, from there into a new data directory, or ' +
    'from one server to another. Then compare the number of rows and a digest of each table. An interrupted copy is ' +
    'continued by the same command; no daemon starts on the copy before it is whole. The data key is read as a daemon ' +
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
    const tables = (copied.tables ?? []) as unknown as readonly CopiedTable[]
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
export const withoutPassword = (place: string): string => place.replace(/\/\/.*@/, '//').replace(/\?.*$/, '')
