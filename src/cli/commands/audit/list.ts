import { defineCommand } from '../../command/define.ts'
import { integer, team, text } from '../../command/options.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the changes, newest first, with who made them',
  examples: ['audit list', 'audit list --actor alice --since 2026-01-31 --json'],
  options: {
    action: text('--action <action>', 'Of one kind'),
    actor: text('--actor <name>', 'Of one person or key'),
    since: text('--since <date>', 'From this date or ISO 8601 time on'),
    limit: integer('--limit <n>', 'At most so many', [1, 1000]),
    before: integer('--before <id>', 'Older than this entry: the next page', [1, Number.MAX_SAFE_INTEGER]),
    team,
  },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await ctx.call('GET /admin/audit', { query: options }),
      {
        ID: (entry) => entry.id,
        AT: (entry) => entry.at,
        ACTOR: (entry) => entry.actor,
        ACTION: (entry) => entry.action,
        TARGET: (entry) => entry.target,
        TEAM: (entry) => entry.team,
        DETAIL: (entry) => entry.detail,
      },
      'No changes.',
    )
  },
})
