import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import { listGroups } from './group.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the chip groups',
  examples: ['chip-groups list', 'chip-groups list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    const groups = await listGroups(ctx, options.team)
    const counted = groups.some(({ chips }) => chips !== undefined)
    await ctx.io.list(
      groups,
      {
        ID: (group) => group.id,
        NAME: (group) => group.name,
        // The list for API keys has no counts; the one for admins does.
        ...(counted && { CHIPS: (group) => group.chips, TEAM: (group) => group.team }),
        CREATED: (group) => group.createdAt,
      },
      'No chip groups. Create one: tapchip chip-groups create --name NAME',
    )
  },
})
