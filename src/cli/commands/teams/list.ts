import { defineCommand } from '../../command/define.ts'
import { describeBudget } from './team.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the teams',
  examples: ['teams list', "teams list --json | jq -r '.[].name'"],
  run: async (ctx) => {
    await ctx.io.list(
      await ctx.call('GET /admin/teams'),
      {
        ID: (team) => team.id,
        NAME: (team) => team.name,
        CREATED: (team) => team.createdAt,
        TODAY: (team) => describeBudget(team.budget),
      },
      'No teams. Create one: tapchip teams create NAME',
    )
  },
})
