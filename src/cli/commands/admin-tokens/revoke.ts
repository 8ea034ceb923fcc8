import { defineCommand } from '../../command/define.ts'
import { argument, yes } from '../../command/options.ts'
import { readId } from '../ids.ts'

export const revoke = defineCommand({
  name: 'revoke',
  summary: 'Revoke an admin token: it is worth nothing from now on',
  examples: ['admin-tokens revoke 2'],
  args: { id: argument('id', 'Its id (admin-tokens list)') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = readId(args.id)
    await ctx.prompts.confirm(options.yes, `Revoke admin token ${id}? It cannot be brought back.`)
    await ctx.io.one(await ctx.call('DELETE /admin/admin-tokens/:id', { params: { id } }), () => ({
      Revoked: id,
    }))
    ctx.io.hint('A new one: tapchip admin-tokens create --name NAME --scopes SCOPES')
  },
})
