import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import { credentialState } from '../credentials.ts'

export const list = defineCommand({
  name: 'list',
  summary: "List a team's API keys without their secrets",
  examples: ['api-keys list', 'api-keys list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await ctx.call('GET /admin/api-keys', { query: { team: options.team } }),
      {
        ID: (key) => key.id,
        NAME: (key) => key.name,
        KEY: (key) => key.hint,
        SCOPES: (key) => key.scopes,
        STATE: (key) => credentialState(key, ctx.now()),
        EXPIRES: (key) => key.expiresAt,
        CREATED: (key) => key.createdAt,
        TEAM: (key) => key.team,
      },
      'No API keys. Create one: tapchip api-keys create --name NAME',
    )
  },
})
