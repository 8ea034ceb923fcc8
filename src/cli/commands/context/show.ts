import { defineCommand } from '../../command/define.ts'
import { configPath, readConfigFile } from '../../config-file.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show the settings in use and their origin',
  examples: ['context show', 'context show --json'],
  run: async (ctx) => {
    const config = ctx.config()
    const { contextName } = config
    const stored = contextName === undefined ? undefined : readConfigFile(ctx.system).contexts[contextName]
    const shown = {
      url: config.url,
      origin: config.origin,
      context: contextName ?? null,
      adminUrl: stored?.adminUrl ?? null,
      protected: config.isProtected,
      hasApiKey: config.apiKey !== undefined,
      apiKeyOrigin: config.apiKeyOrigin ?? null,
      hasAdminToken: config.adminToken() !== undefined,
      adminTokenOrigin: config.adminTokenOrigin() ?? null,
      file: configPath(ctx.system),
    }
    await ctx.io.one(shown, (it) => ({
      Daemon: it.url,
      'Comes from': it.origin,
      Context: it.context,
      ...(it.adminUrl === null ? {} : { Administration: it.adminUrl }),
      Protected: it.protected,
      'API key': it.apiKeyOrigin ?? it.hasApiKey,
      'Admin token': it.adminTokenOrigin ?? it.hasAdminToken,
      File: it.file,
    }))
  },
})
