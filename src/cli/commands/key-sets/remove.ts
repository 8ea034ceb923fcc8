import { defineCommand } from '../../command/define.ts'
import { argument, yes } from '../../command/options.ts'
import { readId } from '../named.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a key set that no chip uses',
  examples: ['key-sets remove 101'],
  args: { id: argument('id', 'Its number', 'key-set') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = readId(args.id, { noun: 'key set', list: 'key-sets list' })
    await ctx.prompts.confirmByName(options.yes, `Remove key set ${id}? Its keys cannot be recovered.`, {
      what: 'its number',
      is: (typed) => typed === String(id),
    })
    await ctx.io.one(await ctx.call('DELETE /admin/key-sets/:id', { params: { id } }), () => ({
      Removed: id,
    }))
    ctx.io.hint('See what is left: tapchip key-sets list')
  },
})
