import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'
import { fieldsOf, findTeam } from './team.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show a team, and what it has sent today',
  examples: ['teams show Acme', "teams show Acme --json | jq '.budget.transactionsToday'"],
  args: { team: argument('team', 'Its name or ID', 'team') },
  run: async (ctx, { args }) => {
    await ctx.io.one(await findTeam(ctx, args.team), fieldsOf)
  },
})
