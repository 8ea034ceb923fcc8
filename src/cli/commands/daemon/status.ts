import { DaemonUnreachable } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes } from '../../errors.ts'
import { chainInWords } from '../doctor/chains.ts'
import { budgetInWords } from '../teams/team.ts'

export const status = defineCommand({
  name: 'status',
  summary: 'Show whether the daemon runs, and what it holds',
  examples: ['daemon status', "daemon status --json | jq -r '.running'"],
  run: async (ctx) => {
    try {
      await printStatus(ctx)
      return exitCodes.done
    } catch (error) {
      if (!(error instanceof DaemonUnreachable)) throw error
      if (ctx.io.json) await ctx.io.one({ running: false, url: ctx.config().url }, () => ({}))
      throw error
    }
  },
})

const printStatus = async (ctx: CliContext): Promise<void> => {
  const { url } = ctx.config()
  if (!ctx.config().adminToken()) {
    // Whether it runs needs no token; the rest does.
    const { status: code } = await (await ctx.client()).probe('/readyz')
    await ctx.io.one({ running: true, ready: code === 200, url }, (it) => ({
      Running: it.running,
      Ready: it.ready,
      Daemon: it.url,
    }))
    ctx.io.note('More with an admin token: TAPCHIP_ADMIN_TOKEN')
    return
  }
  const [held, chains] = await Promise.all([ctx.call('GET /admin/status'), ctx.call('GET /admin/chains')])
  await ctx.io.one({ running: true, ...held, chains }, (it) => ({
    Running: it.running,
    Daemon: it.url,
    Administration: it.admin,
    Version: it.version,
    Pid: it.pid,
    'Up for': `${it.uptimeSeconds} s`,
    Data: it.dataDir,
    Ephemeral: it.ephemeral,
    Database: `${it.database.sizeBytes.toLocaleString('en-US')} bytes, schema ${it.schema}`,
    Teams: it.counts.teams,
    'Key sets': it.counts.keySets,
    Chips: it.counts.chips,
    Taps: it.counts.taps,
    ...Object.fromEntries(it.chains.map((chain) => [`Chain ${chain.chainId}`, chainInWords(chain)])),
    ...Object.fromEntries(
      it.budgets.map((budget) => [`Sent today by ${budget.team}`, budgetInWords(budget)]),
    ),
    'Asking as': `${it.token.name} (${it.token.scopes.join(', ')})`,
  }))
}
