import { defineCommand } from '../../command/define.ts'
import { moment, team, text } from '../../command/options.ts'
import { counted } from '../../io/text.ts'
import { fetchPage, pageFlags } from '../paging.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List changes and who made them, newest first',
  examples: [
    'audit list',
    'audit list --actor alice --since 7d --json',
    'audit list --batch b_1hq3v9k7s2m4xa',
  ],
  options: {
    action: text('--action <action>', 'Only this action'),
    actor: text('--actor <name>', 'Only this person or key'),
    batch: text('--batch <id>', 'Only what this batch changed', 'batch'),
    since: moment('--since <when>', 'Only from then on', 'ago'),
    ...pageFlags('entry'),
    team,
  },
  run: async (ctx, { options }) => {
    const { limit, ...filter } = options
    const query = { ...filter, since: options.since?.(ctx.now()) }
    const { page, hintNextPage } = await fetchPage(ctx, limit, (limit) =>
      ctx.call('GET /admin/audit', { query: { ...query, limit } }),
    )
    await ctx.io.list(
      page,
      {
        ID: (entry) => entry.id,
        AT: (entry) => entry.at,
        ACTOR: (entry) => entry.actor,
        ACTION: (entry) => entry.action,
        TARGET: (entry) => entry.target,
        TEAM: (entry) => entry.team,
        DETAIL: (entry) => brief(entry.detail),
      },
      'No changes.',
    )
    hintNextPage()
  },
})

/** A batch of five thousand rows is one entry: a table shows their number, and --json all of them. */
const brief = (detail: unknown): unknown =>
  JSON.parse(
    JSON.stringify(detail ?? null, (_, value) =>
      Array.isArray(value) && value.length > 3 ? counted(value.length, 'entry', 'entries') : value,
    ),
  )
