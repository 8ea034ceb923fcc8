import { defineCommand } from '../../command/define.ts'
import { readConfigFile } from '../../config-file.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List the contexts',
  examples: ['context list', 'context list --json'],
  run: async (ctx) => {
    const { current, contexts } = readConfigFile(ctx.system)
    const rows = Object.entries(contexts).map(([name, { url, apiKey, adminToken, adminUrl, ...more }]) => ({
      name,
      current: name === current,
      url,
      adminUrl: adminUrl ?? null,
      protected: more.protected === true,
      hasApiKey: apiKey !== undefined,
      hasAdminToken: adminToken !== undefined,
    }))
    await ctx.io.list(
      rows,
      {
        NAME: (row) => row.name,
        CURRENT: (row) => row.current,
        URL: (row) => row.url,
        ADMINISTRATION: (row) => row.adminUrl,
        PROTECTED: (row) => row.protected,
        'API KEY': (row) => row.hasApiKey,
        'ADMIN TOKEN': (row) => row.hasAdminToken,
      },
      'No contexts. Create one: tapchip context create NAME --url URL',
    )
  },
})
