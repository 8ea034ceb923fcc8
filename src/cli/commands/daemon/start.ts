import { defineCommand } from '../../command/define.ts'
import { choice, flag, integer, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { isDaemonProcess, readRecord, writeRecord } from '../../daemon-record.ts'

import { dataDir, stateDir } from '../../surroundings.ts'
import { launch } from './launch.ts'

const levels = ['trace', 'debug', 'info', 'warn', 'error'] as const

export const start = defineCommand({
  name: 'start',
  summary: 'Start the daemon in the background, and wait until it is ready',
  examples: [
    'daemon start',
    'daemon start --port 9000 --data-dir /srv/tapchip',
    'daemon start --ephemeral --seed fixtures/demo.json --json',
  ],
  options: {
    host: text('--host <address>', 'Where to listen (default: 127.0.0.1)'),
    port: integer('--port <port>', '0 takes a free one (default: 8484)', [0, 65_535]),
    dataDir: text('--data-dir <dir>', 'Where everything is kept', 'file'),
    baseUrl: text('--base-url <url>', 'The address that stands in the URLs of chips'),
    config: text('--config <file>', 'Settings in JSON', 'file'),
    seed: text('--seed <file>', 'What to create that is not there yet', 'file'),
    ephemeral: flag('--ephemeral', 'Keep nothing: all goes when it stops'),
    logLevel: choice('--log-level <level>', 'How much to log', levels),
  },
  run: async (ctx, { options }) => {
    const running = readRecord(ctx.at)
    if (running && isDaemonProcess(running.pid)) {
      const { flags: _, ...shown } = running
      await ctx.io.one({ ...shown, started: false }, (it) => ({
        Daemon: it.url,
        Pid: it.pid,
        'Runs since': it.startedAt,
      }))
      ctx.io.note('It runs already.')
      ctx.io.hint('Stop it: tapchip daemon stop')
      return
    }
    const { host, port, baseUrl, config, seed, ephemeral, logLevel } = options
    const given = {
      host,
      port,
      'data-dir': options.dataDir,
      'base-url': baseUrl,
      config,
      seed,
      'log-level': logLevel,
    }
    const flags = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, String(value)],
    )
    const chosen = options.dataDir ?? dataDir(ctx.at)
    // What an ephemeral daemon keeps goes with it; its log should not.
    const logDir = ephemeral ? stateDir(ctx.at) : chosen.startsWith('/') ? chosen : `${ctx.at.cwd}/${chosen}`
    await ctx.beforeChange(
      `Would run tapchipd ${[...flags, ...(ephemeral ? ['--ephemeral'] : [])].join(' ')}`,
    )
    const ready = await launch(ctx, { flags: [...flags, ...(ephemeral ? ['--ephemeral'] : [])], logDir })
    const record = { ...ready, startedAt: ctx.now().toISOString() }
    writeRecord(ctx.at, { ...record, flags: [...flags, ...(ephemeral ? ['--ephemeral'] : [])] })
    await ctx.io.one({ ...record, started: true }, (it) => ({
      Daemon: it.url,
      Pid: it.pid,
      Data: it.dataDir,
      Log: it.logFile,
    }))
    if (ctx.config().url !== ready.url && new URL(ctx.config().url).origin !== new URL(ready.url).origin) {
      ctx.io.note(`Other commands go to ${ctx.config().url}. To this one: export TAPCHIP_URL=${ready.url}`)
    } else
      ctx.io.hint(`Next: tapchip doctor${(await hasTeam(ctx)) ? '' : ' · tapchip teams create --name NAME'}`)
  },
})

/** Also where the daemon does not tell: then it has been set up for somebody. */
const hasTeam = async (ctx: CliContext): Promise<boolean> => {
  if (ctx.io.json || ctx.flags.quiet) return true
  try {
    return (await ctx.call('GET /admin/status')).counts.teams > 0
  } catch {
    return true
  }
}
