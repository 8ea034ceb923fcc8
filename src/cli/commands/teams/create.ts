import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Create a team',
  examples: ['teams create --name Acme'],
  options: { name: text('--name <name>', 'Its name') },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'Name of the team' })
    const team = await ctx.call('POST /admin/teams', { body: { name } })
    await ctx.io.one(team, (made) => ({ Id: made.id, Name: made.name, Created: made.createdAt }))
    ctx.io.note('Give it a key: tapchip api-keys create --name NAME --team TEAM')
  },
})
