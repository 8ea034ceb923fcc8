import { adminSocketName, holdsDataDir } from '../../../values/local-daemon.ts'
import { createClient } from '../../client/client.ts'
import { isLoopback } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { integerOrBare } from '../../command/options.ts'
import { defaultUrl } from '../../config.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import { type DaemonRecord, isRunning, type Started, systemctl, unitName } from '../../local-daemon.ts'
import { isSuspended, processStart } from '../../process-state.ts'
import { dataDir } from '../../system.ts'
import {
  chooseDaemon,
  type DaemonChoice,
  dataDirFlag,
  realDir,
  requestedDaemon,
  runningIn,
  serviceOf,
  withServiceFallback,
} from './choose.ts'
import { forgetStarted } from './launch.ts'

export const stop = defineCommand({
  name: 'stop',
  summary: 'Stop a daemon on this machine, once its requests are done',
  description:
    'Stop a daemon on this machine, once its requests are done: the one that runs, or that of --data-dir, --url or ' +
    '--context. A process gets a signal only if it is certainly that daemon.',
  examples: ['daemon stop', 'daemon stop --data-dir /srv/tapchip', 'daemon stop --wait 60'],
  options: {
    ...dataDirFlag,
    wait: integerOrBare('--wait [seconds]', 'How long to wait for it (default: 30)', [1, 3600], 30),
  },
  run: async (ctx, { options }) => {
    const choice = withServiceFallback(ctx, requestedDaemon(ctx, options.dataDir))
    const record = chooseDaemon(ctx, choice) ?? (await findByHand(ctx, choice))
    if (record === undefined) {
      await assertNoneAnswers(choice)
      await ctx.io.one({ stopped: false, pid: null }, () => ({ Stopped: false }))
      ctx.io.note(`It is not running${choice.dataDir ? ` on ${choice.dataDir}` : ''}.`)
      ctx.io.hint('List the daemons: tapchip daemon status --all')
      return
    }
    const { pid, started } = record
    const since = processStart(pid)
    const doubt = await whyNotCertain(record)
    if (doubt !== undefined)
      throw new CliError(
        `It is not certain that process ${pid} is the daemon: ${doubt}. It was left alone.`,
        {
          advice: `See what it is: ps -p ${pid} · List the daemons: tapchip daemon status --all`,
        },
      )
    await ctx.beforeChange(`Would send SIGTERM to process ${pid}`)
    if (choice.isByAddress) await ctx.confirmContext()
    try {
      // A prompt may have delayed this, so check again.
      if (isRunning(record)) process.kill(pid, 'SIGTERM')
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
    while (since !== undefined && processStart(pid) === since) {
      if (isSuspended(pid))
        throw new CliError(`Process ${pid} is suspended and does not respond.`, {
          advice: `To let it continue, and then stop: kill -CONT ${pid} · To end it at once: kill -KILL ${pid}`,
        })
      if (Date.now() > until)
        throw new CliError(`Process ${pid} has not stopped within ${seconds} s.`, {
          advice: `It may be finishing requests. To wait longer: --wait 120 · To end it at once: kill -KILL ${pid}`,
        })
      await new Promise((done) => setTimeout(done, 25))
    }
    forgetStarted(ctx.system, record.dataDir)
    await ctx.io.one({ stopped: true, pid }, (it) => ({
      Stopped: it.stopped,
      Pid: it.pid,
      Daemon: record.url,
      Data: record.dataDir,
    }))
    const service = started ? undefined : serviceOf(ctx, record.dataDir)
    if (service) ctx.io.hint(`Start it again: ${systemctl(service)} start ${unitName}`)
    // With its original flags: without them, it would be another daemon.
    if (started) {
      const flags = flagsOf(ctx, record, started).map(shellQuoted)
      ctx.io.hint(`Start it again: ${['tapchip daemon start', ...flags].join(' ')}`)
    }
  },
})

/** The flags that start the same daemon from any shell: its directory and port may have come from the environment. */
const flagsOf = (
  ctx: CliContext,
  { url, dataDir: dir }: DaemonRecord,
  { flags }: Started,
): readonly string[] => {
  if (flags.includes('--ephemeral')) return flags
  const { port } = new URL(url)
  const at = flags.indexOf('--port')
  // It was started with any free port, but contexts now use the one that it had.
  const startFlags = flags.map((flag, i) => (i === at + 1 && at >= 0 ? port : flag))
  if (at < 0 && port !== new URL(defaultUrl).port) startFlags.push('--port', port)
  const defaultDir = dataDir({ ...ctx.system, env: { ...ctx.system.env, TAPCHIP_DATA_DIR: undefined } })
  if (!flags.includes('--data-dir') && dir !== realDir(ctx, defaultDir)) startFlags.push('--data-dir', dir)
  return startFlags
}

/** @throws CliError if something still answers at the address: it was started by hand, or elsewhere */
const assertNoneAnswers = async ({ dataDir: dir, url, isByAddress }: DaemonChoice): Promise<void> => {
  if (!isByAddress || dir !== undefined || url === undefined) return
  if ((await instanceAt(url)) === undefined) return
  throw new CliError(`A daemon answers at ${url}, but it was not started here. It was left alone.`, {
    advice:
      'If its data directory is on this machine: tapchip daemon stop --data-dir DIR. Or stop it where it was started: ' +
      'systemctl stop tapchip, docker stop, or Ctrl-C.',
  })
}

/** A daemon that was not started by `daemon start` names its data directory to whoever has a token. */
const findByHand = async (
  ctx: CliContext,
  { dataDir: dir, url }: DaemonChoice,
): Promise<DaemonRecord | undefined> => {
  if (dir !== undefined && url === undefined) return undefined
  if (!isLoopback(new URL(ctx.config().url).hostname) || !ctx.config().adminToken()) return undefined
  const status = await ctx.call('GET /admin/status').catch(() => undefined)
  if (status === undefined || (dir !== undefined && status.dataDir !== dir)) return undefined
  const record = runningIn(status.dataDir)
  if (record !== undefined) return record
  throw new CliError(
    `A daemon answers at ${ctx.config().url}, but its process is not known: none of yours holds ${status.dataDir}.`,
    { advice: 'Stop it where it was started: systemctl stop tapchip, docker stop, or Ctrl-C.' },
  )
}

/** Why the process of a record may not be its daemon; undefined if it is proved to be. */
const whyNotCertain = async ({
  pid,
  dataDir: dir,
  url,
  instance,
}: DaemonRecord): Promise<string | undefined> => {
  if (holdsDataDir(pid, dir)) return undefined
  // The system does not say, so the daemon itself must, on the socket that nobody else can have opened.
  const answering = await instanceAt(`unix:${dir}/${adminSocketName}`)
  if (answering === undefined) return `nothing answers on ${dir}`
  return answering === instance ? undefined : `another daemon answers at ${url}`
}

const timeoutMs = 2000

/** The instance that answers at an address, whoever started it. */
const instanceAt = async (url: string): Promise<string | undefined> => {
  const client = createClient({ url, timeoutMs })
  // One deadline for the whole exchange, so that a slow writer cannot hold us.
  const late = new Promise<undefined>((done) => setTimeout(() => done(undefined), timeoutMs).unref())
  const answered = client.instance().catch(() => undefined)
  return Promise.race([answered, late]).finally(client.close)
}
