import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EmbeddedElsewhere } from '../chain/dev-chain/alone.ts'
import { AnvilNotStarted } from '../chain/dev-chain/not-started.ts'
import { ChainNotRestored } from '../chain/dev-chain/saved-states.ts'
import { KeyProblem } from '../chain/keys/signing-key.ts'
import { WrongChain } from '../chain/relayer/errors.ts'
import { readArguments } from '../config/arguments.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { ConfigProblem, describeFileError } from '../config/problem.ts'
import { markRestored } from '../domain/backup/mark-restored.ts'
import { restoreBackup } from '../domain/backup/restore.ts'
import { RestoreProblem } from '../domain/backup/restore-source.ts'
import { iso, systemClock } from '../domain/time/time.ts'
import { SeedProblem } from '../seed/seeding.ts'
import { assertNoDaemon } from '../store/copy/open-side.ts'
import { CopyProblem } from '../store/copy/side.ts'
import { DataDirInUse, DataDirProblem } from '../store/data-dir/data-dir.ts'
import { DataKeyProblem } from '../store/data-dir/data-key.ts'
import { lacksDescriptors, NoDescriptors } from '../store/data-dir/descriptors.ts'
import { Disk } from '../store/data-dir/disk.ts'
import { DatabaseUnavailable } from '../store/database/database.ts'
import {
  MigrationFailed,
  nameOfDatabase,
  SchemaTooNew,
  SchemaTooOld,
  ServerProblem,
} from '../store/database/open.ts'
import { help } from './help.ts'
import { createLogger } from './log.ts'
import { openStore } from './open-store.ts'
import { serviceManager } from './service-manager.ts'
import { maxStopMs, startDaemon } from './start.ts'
import { stdioWriter } from './stdio.ts'
import { copyStores } from './store-copy.ts'
import { uncaughtError, uncaughtExitCode } from './uncaught.ts'
import { NoRoomForCopy } from './upgrade.ts'
import { version } from './version.ts'

// Problems that the operator can fix: the message is enough, without a stack trace.
const known = [
  AnvilNotStarted,
  ChainNotRestored,
  ConfigProblem,
  CopyProblem,
  DatabaseUnavailable,
  DataDirProblem,
  DataKeyProblem,
  DataDirInUse,
  EmbeddedElsewhere,
  RestoreProblem,
  SchemaTooNew,
  SchemaTooOld,
  MigrationFailed,
  ServerProblem,
  NoDescriptors,
  NoRoomForCopy,
  SeedProblem,
  KeyProblem,
  WrongChain,
]

/** With fewer descriptors, a start fails at some point, often without stating the reason. */
const neededDescriptors = 32

async function run(): Promise<number> {
  // Files are for their owner only: the database contains live codes.
  process.umask(0o077)
  const args = readArguments(process.argv.slice(2))
  if (args.help || args.version) {
    process.stdout.write(args.help ? help : `tapchipd ${version}\n`)
    return 0
  }
  if (lacksDescriptors(neededDescriptors)) throw new NoDescriptors()
  const loaded = loadConfig(args, process.env)
  if (args.restore !== undefined) return restore(args.restore, loaded)
  if (args.store === 'mark-restored') return restoredElsewhere(loaded)
  if (args.store !== undefined)
    return copy(process.env.TAPCHIP_COPY_FROM, process.env.TAPCHIP_COPY_TO, loaded)
  const config = withTemporaryDir(loaded)
  try {
    const log = createLogger(config.logLevel)
    const uncaught = uncaughtError(log)
    const stopping = Promise.race([signalled(), uncaught])
    const early = new AbortController()
    void stopping.then(() => early.abort())
    // Applies also if the daemon is still starting or does not stop.
    void uncaught.then(() => {
      process.exitCode = uncaughtExitCode
      setTimeout(() => process.exit(), maxStopMs(config) + 2000).unref()
    })
    const service = serviceManager(process.env, log)
    const daemon = await startDaemon(config, log, { stopped: early.signal, starting: service.starting })
    stdioWriter(1).write(`${JSON.stringify(daemon.ready)}\n`)
    service.ready(`Ready at ${daemon.ready.url}`)
    await stopping
    service.stopping()
    return (await daemon.stop()) ? 0 : 1
  } finally {
    if (process.connected) process.disconnect()
    if (config.ephemeral) rmSync(config.dataDir, { recursive: true, force: true })
  }
}

/** `tapchip restore` starts it, and reads the line. */
async function restore(from: string, config: Config): Promise<number> {
  if (config.ephemeral) throw new ConfigProblem('--restore and --ephemeral exclude each other')
  const { dataDir, dataKey, backupPassphrase: passphrase } = config
  const restored = await restoreBackup(systemClock, { from, dataDir, dataKey, passphrase })
  stdioWriter(1).write(`${JSON.stringify({ event: 'restored', ...restored })}\n`)
  return 0
}

/** `tapchip store copy` starts it, and reads the lines. URLs hold passwords, so they come in the environment. */
async function copy(from: string | undefined, to: string | undefined, config: Config): Promise<number> {
  if (from === undefined || to === undefined)
    throw new ConfigProblem(
      '--store copy needs TAPCHIP_COPY_FROM and TAPCHIP_COPY_TO; run: tapchip store copy',
    )
  // If the parent command was killed, its user runs it again, and this process must not hold the databases.
  const exitNow = () => process.exit(1)
  process.once('disconnect', exitNow)
  const out = stdioWriter(1)
  let reportedAt = 0
  const copied = await copyStores({ from, to }, config, (step) => {
    if (step.done < step.total && performance.now() - reportedAt < 100) return
    reportedAt = performance.now()
    out.write(`${JSON.stringify({ event: 'step', ...step })}\n`)
  })
  out.write(`${JSON.stringify({ event: 'copied', ...copied })}\n`)
  process.off('disconnect', exitNow)
  if (process.connected) process.disconnect()
  return 0
}

/** `tapchip store mark-restored` starts it, and reads the line. */
async function restoredElsewhere(config: Config): Promise<number> {
  const { databaseUrl: url, dataDir, logLevel } = config
  if (url === undefined)
    throw new ConfigProblem(
      '--store mark-restored is for a database on PostgreSQL: set TAPCHIP_DATABASE_URL. For a data directory: tapchip restore',
    )
  await assertNoDaemon(url)
  const { db, box } = await openStore(config, {
    log: createLogger(logLevel),
    disk: new Disk(dataDir),
    clock: systemClock,
    starting: async () => undefined,
    stopped: undefined,
  })
  const now = { at: iso(systemClock.now()), madeAt: null, target: nameOfDatabase(url) }
  const { chips } = await markRestored(db, box, now)
  await db.close()
  stdioWriter(1).write(`${JSON.stringify({ event: 'marked-restored', chips })}\n`)
  if (process.connected) process.disconnect()
  return 0
}

function withTemporaryDir(config: Config): Config {
  if (!config.ephemeral) return config
  try {
    return { ...config, dataDir: mkdtempSync(join(realpathSync(tmpdir()), 'tapchip-')) }
  } catch (error) {
    throw new ConfigProblem(
      `--ephemeral cannot use ${tmpdir()}: ${describeFileError(error)}. Set another directory: TMPDIR=DIR`,
    )
  }
}

/** Resolves at the first stop signal; a second one ends the process at once. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    // `tapchip ci` holds a channel to its daemon, which closes even if that process was killed.
    process.once('disconnect', resolve)
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      if (signal === 'SIGHUP' && ignoresHangups()) continue
      process.on(signal, () => {
        resolve()
        process.once(signal, () => process.exit(130))
      })
    }
  })
}

/** Started under `nohup`, the daemon is meant to outlive its terminal. Only Linux reports it (proc(5), SigIgn). */
function ignoresHangups(): boolean {
  try {
    const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return (BigInt(`0x${mask}`) & 1n) === 1n
  } catch {
    return false
  }
}

/** Ends with an exit code even if something that could not be closed would keep the process alive. */
function end(code: number): void {
  // Already set if an uncaught error is the reason for ending.
  process.exitCode ??= code
  setTimeout(() => process.exit(), 500).unref()
}

run().then(end, (error: unknown) => {
  const isKnown = known.some((kind) => error instanceof kind)
  const message =
    isKnown && error instanceof Error ? error.message : (addressProblem(error) ?? inspect(error))
  stdioWriter(2).write(`tapchipd: ${message}\n`)
  const isLasting = error instanceof ConfigProblem || (error instanceof ServerProblem && error.isLasting)
  end(isLasting ? 2 : 1)
})

function addressProblem(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const { code, address, port, hostname } = { address: '', port: '', hostname: '', ...error }
  if (address === '' && hostname === '') return undefined
  const reasons: Record<string, string> = {
    EADDRINUSE:
      'is already in use. Stop the program that listens there, or use another --port (0 picks a free one)',
    EACCES: 'cannot be used by this user. Use a --port above 1023',
    EADDRNOTAVAIL: 'is not an address of this machine. Use another --host',
    ENOTFOUND: 'cannot be resolved. Use another --host',
  }
  const reason = reasons[String(code)]
  // With port 0, the error names no port.
  const listener = [address || hostname, port].filter((part) => part !== '').join(':')
  return reason && `${listener} ${reason}.`
}

const inspect = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
