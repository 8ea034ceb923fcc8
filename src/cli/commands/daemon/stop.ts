import { isLoopback } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { integerOrBare } from '../../command/options.ts'
import { defaultUrl } from '../../config.ts'
import type { CliContext } from '../../context.ts'
import { type DaemonRecord, isRunning, isSuspended } from '../../daemon-record.ts'
import { CliError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import { systemctl, unitName } from '../../service.ts'
import { dataDir } from '../../system.ts'
import {
  chooseDaemon,
  dataDirFlag,
  orService,
  realDir,
  serviceOf,
  type Wanted,
  wantedDaemon,
} from './choose.ts'
import { removeRecord } from './keep-record.ts'
import { doubtAbout, holderOf, instanceAtAddress } from './proof.ts'

export const stop = defineCommand({
  name: 'stop',
  summary: 'Stop a daemon on this machine, once its requests are done',
  description:
    'Stop a daemon on this machine, once its requests are done: the one that runs, or that of --data-dir, --url or ' +
    '--context. Only a process that is certainly that daemon gets a signal.',
  examples: ['daemon stop', 'daemon stop --data-dir /srv/tapchip', 'daemon stop --wait 60'],
  options: {
    ...dataDirFlag,
    wait: integerOrBare('--wait [seconds]', 'How long to wait for it (default: 30)', [1, 3600], 30),
  },
  run: async (ctx, { options }) => {
    const wanted = orService(ctx, wantedDaemon(ctx, options.dataDir))
    const record = chooseDaemon(ctx, wanted)
    const found = record ?? (await findByHand(ctx, wanted))
    if (found === undefined) {
      await assertNoneAnswers(wanted)
      await ctx.io.one({ stopped: false, pid: null }, () => ({ Stopped: false }))
      ctx.io.note(`It is not running${wanted.dataDir ? ` on ${wanted.dataDir}` : ''}.`)
      ctx.io.hint('List the daemons: tapchip daemon status --all')
      return
    }
    const { pid } = found
    const doubt = record && (await doubtAbout(record))
    if (doubt !== undefined)
      throw new CliError(
        `It is not certain that process ${pid} is the daemon: ${doubt}. It was left alone.`,
        {
          advice: `See what it is: ps -p ${pid} · List the daemons: tapchip daemon status --all`,
        },
      )
    await ctx.beforeChange(`Would send SIGTERM to process ${pid}`)
    if (wanted.isByAddress) await ctx.confirmContext()
    try {
      // A prompt may have delayed this, so check again.
      if (isRunning(found)) process.kill(pid, 'SIGTERM')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EPERM') {
        throw new CliError(`Process ${pid} belongs to another user.`, {
          advice: 'Under systemd: systemctl stop tapchip',
        })
      }
      throw error
    }
    const seconds = options.wait ?? 30
    const until = Date.now() + seconds * 1000
    while (isRunning(found)) {
      if (isSuspended(pid))
        throw new CliError(`Process ${pid} is suspended, and reacts to nothing.`, {
          advice: `To let it continue, and then stop: kill -CONT ${pid} · To end it at once: kill -KILL ${pid}`,
        })
      if (Date.now() > until)
        throw new CliError(`Process ${pid} has not stopped within ${seconds} s.`, {
          advice: `It may be finishing requests. To wait longer: --wait 120 · To end it at once: kill -KILL ${pid}`,
        })
      await new Promise((done) => setTimeout(done, 25))
    }
    if (record) removeRecord(ctx.system, record)
    await ctx.io.one({ stopped: true, pid }, (it) => ({
      Stopped: it.stopped,
      Pid: it.pid,
      ...(record ? { Daemon: record.url, Data: record.dataDir } : {}),
    }))
    const service = record || wanted.dataDir === undefined ? undefined : serviceOf(ctx, wanted.dataDir)
    if (service) ctx.io.hint(`Start it again: ${systemctl(service)} start ${unitName}`)
    // With its original flags: without them, it would be another daemon.
    if (record)
      ctx.io.hint(
        `Start it again: ${['tapchip daemon start', ...flagsOf(ctx, record).map(shellQuoted)].join(' ')}`,
      )
  },
})

/** The flags that start the same daemon from any shell: its directory and port may have come from the environment. */
const flagsOf = (ctx: CliContext, { flags, url, dataDir: dir }: DaemonRecord): readonly string[] => {
  if (flags.includes('--ephemeral')) return flags
  const { port } = new URL(url)
  const at = flags.indexOf('--port')
  // It was started with any free port, but contexts now use the one that it had.
  const told = flags.map((flag, i) => (i === at + 1 && at >= 0 ? port : flag))
  if (at < 0 && port !== new URL(defaultUrl).port) told.push('--port', port)
  const usual = dataDir({ ...ctx.system, env: { ...ctx.system.env, TAPCHIP_DATA_DIR: undefined } })
  if (!flags.includes('--data-dir') && dir !== realDir(ctx, usual)) told.push('--data-dir', dir)
  return told
}

/** @throws CliError if something still answers at the address: it was started by hand, or elsewhere */
const assertNoneAnswers = async ({ dataDir: dir, url, isByAddress }: Wanted): Promise<void> => {
  if (!isByAddress || dir !== undefined || url === undefined) return
  if ((await instanceAtAddress(url)) === undefined) return
  throw new CliError(`A daemon answers at ${url}, but it was not started here. It was left alone.`, {
    advice:
      'If its data directory is on this machine: tapchip daemon stop --data-dir DIR. Or stop it where it was started: ' +
      'systemctl stop tapchip, docker stop, or Ctrl-C.',
  })
}

/** A daemon that was not started by `daemon start` is found by the lock on the data directory that it names. */
const findByHand = async (
  ctx: CliContext,
  { dataDir: dir, url }: Wanted,
): Promise<Pick<DaemonRecord, 'pid' | 'processStart'> | undefined> => {
  if (dir !== undefined && url === undefined) return holderOf(dir)
  if (!isLoopback(new URL(ctx.config().url).hostname) || !ctx.config().adminToken()) return undefined
  const told = await ctx.call('GET /admin/status').catch(() => undefined)
  if (told === undefined || (dir !== undefined && told.dataDir !== dir)) return undefined
  const holder = holderOf(told.dataDir)
  if (holder !== undefined) return holder
  throw new CliError(
    `A daemon answers at ${ctx.config().url}, but its process is not known: none of yours holds ${told.dataDir}.`,
    { advice: 'Stop it where it was started: systemctl stop tapchip, docker stop, or Ctrl-C.' },
  )
}
