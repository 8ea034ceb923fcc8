import { listGroups } from '../../chip-group.ts'
import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the chip groups',
  examples: ['chip-groups list', 'chip-groups list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await listGroups(ctx, options.team),
      {
        ID: (group) => group.id,
        NAME: (group) => group.name,
        CHIPS: (group) => group.chips,
        TEAM: (group) => group.team,
        CREATED: (group) => group.createdAt,
      },
      'No chip groups. Make one: tapchip chip-groups create --name NAME',
    )
  },
})
