import { defineCommand } from '../../command/define.ts'
import { credentialState } from '../credentials.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the admin tokens without their secrets',
  examples: ['admin-tokens list', 'admin-tokens list --json'],
  run: async (ctx) => {
    await ctx.io.list(
      await ctx.call('GET /admin/admin-tokens'),
      {
        ID: (token) => token.id,
        NAME: (token) => token.name,
        SCOPES: (token) => token.scopes,
        STATE: (token) => credentialState(token, ctx.now()),
        EXPIRES: (token) => token.expiresAt,
        CREATED: (token) => token.createdAt,
      },
      'There is only the first admin token, in admin.token in the data directory.',
    )
  },
})
