import { defineCommand } from '../../command/define.ts'
import { credentialState } from '../credentials.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the admin tokens, never the tokens themselves',
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
      'No admin tokens but the first one, in admin.token of the data directory.',
    )
  },
})
