import { defineCommand } from '../../command/define.ts'
import { argument, yes } from '../../command/options.ts'
import { readId } from '../named.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a third-party link',
  examples: ['links remove 2'],
  args: { id: argument('id', 'Its id (links list)') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = readId(args.id, { noun: 'link', list: 'links list' })
    await ctx.prompts.confirm(options.yes, `Remove link ${id}?`)
    await ctx.io.one(await ctx.call('DELETE /admin/links/:id', { params: { id } }), () => ({ Removed: id }))
    ctx.io.hint('See what is left: tapchip links list')
  },
})
