import { defineCommand } from '../../command/define.ts'
import { text, yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { withoutPassword } from './copy.ts'
import { runDaemonProgram } from './daemon-program.ts'

export const markRestored = defineCommand({
  name: 'mark-restored',
  summary: 'Tell a database on PostgreSQL that it was restored to an earlier state',
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
