import { isLoopback } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { integer } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { isDaemonProcess, readRecord, removeRecord } from '../../daemon-record.ts'
import { CliError } from '../../errors.ts'
import { asWord } from '../../io/text.ts'

export const stop = defineCommand({
  name: 'stop',
  summary: 'Stop the daemon on this machine, once its requests are done',
  examples: ['daemon stop', 'daemon stop --wait 60'],
  options: { wait: integer('--wait <seconds>', 'How long to wait for it (default: 30)', [1, 3600]) },
  run: async (ctx, { options }) => {
    const record = readRecord(ctx.at)
    const pid = await findPid(ctx)
    if (pid === undefined) {
      await ctx.io.one({ stopped: false, pid: null }, () => ({ Stopped: false }))
      ctx.io.note('It does not run.')
      ctx.io.hint('Start it: tapchip daemon start')
      return
    }
    await ctx.beforeChange(`Would send SIGTERM to process ${pid}`)
    try {
      process.kill(pid, 'SIGTERM')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EPERM') {
        throw new CliError(`Process ${pid} is another user's.`, {
          advice: 'Under systemd: systemctl stop tapchip',
        })
      }
      throw error
    }
    const until = Date.now() + (options.wait ?? 30) * 1000
    while (isDaemonProcess(pid)) {
      if (Date.now() > until)
        throw new CliError(`Process ${pid} is still draining.`, { advice: 'Give it longer: --wait 120' })
      await new Promise((done) => setTimeout(done, 25))
    }
    removeRecord(ctx.at)
    await ctx.io.one({ stopped: true, pid }, (it) => ({ Stopped: it.stopped, Pid: it.pid }))
    // With what it was told then: it would be another daemon without.
    if (record?.pid === pid && record.flags)
      ctx.io.hint(`Start it again: ${['tapchip daemon start', ...record.flags.map(asWord)].join(' ')}`)
  },
})

/** The one that `daemon start` started; else whichever answers here on this machine. */
const findPid = async (ctx: CliContext): Promise<number | undefined> => {
  const record = readRecord(ctx.at)
  if (record && isDaemonProcess(record.pid)) return record.pid
  if (!isLoopback(new URL(ctx.config().url).hostname) || !ctx.config().adminToken()) return undefined
  try {
    const { pid } = await ctx.call('GET /admin/status')
    return isDaemonProcess(pid) ? pid : undefined
  } catch {
    return undefined
  }
}
