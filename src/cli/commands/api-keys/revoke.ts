import { defineCommand } from '../../command/define.ts'
import { argument, yes } from '../../command/options.ts'
import { readId } from '../ids.ts'

export const revoke = defineCommand({
  name: 'revoke',
  summary: 'Revoke an API key: it is worth nothing from now on',
  examples: ['api-keys revoke 3', 'api-keys revoke 3 --yes'],
  args: { id: argument('id', 'Its id (api-keys list)') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = readId(args.id)
    await ctx.prompts.confirm(options.yes, `Revoke API key ${id}? It cannot be brought back.`)
    await ctx.io.one(await ctx.call('DELETE /admin/api-keys/:id', { params: { id } }), () => ({
      Revoked: id,
    }))
    ctx.io.hint('A new one: tapchip api-keys create --name NAME')
  },
})
