import { defineCommand } from '../../command/define.ts'
import { optionalArgument, text } from '../../command/options.ts'
import { shellQuoted } from '../../io/text.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Create a team',
  examples: ['teams create Acme', 'teams create --name Acme --json'],
  args: { name: optionalArgument('name', 'Its name') },
  options: { name: text('--name <name>', 'The same, as a flag') },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(args.name ?? options.name, {
      flag: '--name',
      message: 'Name of the team',
    })
    const team = await ctx.call('POST /admin/teams', { body: { name } })
    await ctx.io.one(team, (made) => ({ Id: made.id, Name: made.name, Created: made.createdAt }))
    ctx.io.hint(`Give it a key: tapchip api-keys create --name NAME --team ${shellQuoted(team.name)}`)
  },
})
