import { defineCommand } from '../../command/define.ts'
import { argument, yes } from '../../command/options.ts'
import { findTeam } from './team.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove an empty team',
  examples: ['teams remove Acme'],
  args: { team: argument('team', 'Its name or ID', 'team') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    // Without a terminal, nothing is looked up for a question that cannot be asked.
    const question = (name: string) => `Remove the team "${name}"? This cannot be undone.`
    await ctx.prompts.confirm(options.yes || ctx.prompts.possible, question(args.team))
    const found = await findTeam(ctx, args.team)
    await ctx.prompts.confirmByName(options.yes, question(found.name), {
      what: 'its name',
      is: (typed) => typed === found.name,
    })
    const answer = await ctx.call('DELETE /admin/teams/:id', { params: { id: found.id } })
    await ctx.io.one(answer, () => ({ Removed: found.name }))
    ctx.io.hint('See what is left: tapchip teams list')
  },
})
