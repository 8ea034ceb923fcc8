import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'

export const list = defineCommand({
  name: 'list',
  summary: "List a team's third-party links, which are on its tap page",
  examples: ['links list', 'links list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await ctx.call('GET /admin/links', { query: { team: options.team } }),
      {
        ID: (link) => link.id,
        LABEL: (link) => link.label,
        'BASE URL': (link) => link.baseUrl,
        TEAM: (link) => link.team,
        CREATED: (link) => link.createdAt,
      },
      'No links. Create one: tapchip links create --label LABEL --base-url URL',
    )
  },
})
