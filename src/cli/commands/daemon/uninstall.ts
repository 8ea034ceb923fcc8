import { rmSync } from 'node:fs'
import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { withFiles } from '../../file-problem.ts'
import { installedService, placesOf, systemctl, unitName } from '../../local-daemon.ts'
import { scopeFlags, scopeOf } from './install.ts'
import { requireSystemctl, runSystemctl } from './systemd.ts'

export const uninstall = defineCommand({
  name: 'uninstall',
  summary: 'Stop the service, and remove it from systemd',
  description: 'Stop the service, and remove its unit. Its data and its environment stay where they are.',
  examples: ['daemon uninstall --user', 'daemon uninstall --yes'],
  options: { ...scopeFlags, yes },
  run: async (ctx, { options }) => {
    const scope = scopeOf(options)
    const service = installedService(ctx.system, scope)
    const { unitPath, envFile, stateDirs } = placesOf(ctx.system, scope)
    if (service === undefined) {
      await ctx.io.one({ status: 'absent', scope, unit: unitPath }, () => ({ Service: 'not installed' }))
      ctx.io.note(`There is no ${unitPath}.`)
      return
    }
    const data = service.dataDir ?? stateDirs[0] ?? ''
    await ctx.beforeChange(`Would stop ${unitName} (${systemctl({ scope })}), and remove ${unitPath}`)
    await ctx.prompts.confirm(
      options.yes,
      `Stop ${unitName}, and remove ${unitPath}? The data in ${data} stays.`,
    )
    // Without a manager nothing runs, and the file can still be removed.
    const { code } = await runSystemctl(ctx, scope, 'show', '--property=Version')
    if (code === 0) await requireSystemctl(ctx, scope, 'disable', '--now', unitName)
    const advice = scope === 'system' ? 'As root: sudo tapchip daemon uninstall' : undefined
    withFiles({ path: unitPath, verb: 'written', ...(advice ? { advice } : {}) }, () => rmSync(unitPath))
    if (code === 0) {
      await requireSystemctl(ctx, scope, 'daemon-reload')
      // Fails if there is nothing to forget.
      await runSystemctl(ctx, scope, 'reset-failed', unitName)
    }
    await ctx.io.one({ status: 'removed', scope, unit: unitPath, dataDir: data, envFile }, (it) => ({
      Service: it.status,
      'Data stays in': it.dataDir,
      'Environment stays in': it.envFile,
    }))
    ctx.io.hint(`Install it again: tapchip daemon install${scope === 'user' ? ' --user' : ''}`)
  },
})
