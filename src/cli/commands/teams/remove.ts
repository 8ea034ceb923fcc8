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
    const found = await findTeam(ctx, args.team)
    const question = `Remove the team "${found.name}"? This cannot be undone.`
    await ctx.prompts.confirmByName(ctx.prompts.named(options.yes), question, {
      what: 'its name',
      is: (typed) => typed === found.name,
    })
    const answer = await ctx.call('DELETE /admin/teams/:id', { params: { id: found.id } })
    await ctx.io.one(answer, () => ({ Removed: found.name }))
    ctx.io.hint('See what is left: tapchip teams list')
  },
})
