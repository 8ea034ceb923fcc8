import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { openToAppend, replaceFile } from '../../../values/files.ts'
import { parseObject } from '../../../values/json.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { withFiles } from '../../file-problem.ts'
import { clean, shellQuoted } from '../../io/text.ts'
import {
  type DaemonRecord,
  isRunning,
  readRecords,
  readStarted,
  type Started,
  startedDir,
} from '../../local-daemon.ts'
import type { SystemPaths } from '../../system.ts'
import { runningIn } from './choose.ts'

type Ready = Pick<DaemonRecord, 'pid' | 'url' | 'dataDir'>

const advice = 'Check who owns the directory (ls -ld), or use another: --data-dir DIR'

/** A seed with deployments takes its time. */
const readyTimeoutMs = 120_000

/** Starts tapchipd detached, with its output in the log, and reads its ready line there. */
export const launch = async (
  ctx: CliContext,
  { flags, logFile }: { readonly flags: readonly string[]; readonly logFile: string },
): Promise<Ready> => {
  const log = withFiles({ path: logFile, verb: 'written', advice }, () => {
    mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 })
    return openToAppend(logFile)
  })
  const from = statSync(logFile).size
  const child = spawn(process.execPath, [ctx.system.daemonScript(), ...flags], {
    detached: true,
    stdio: ['ignore', log, log],
    // Whatever service this command is part of, the daemon outlives it and must not speak for it.
    env: { ...ctx.system.env, NOTIFY_SOCKET: undefined },
    cwd: ctx.system.cwd,
  })
  closeSync(log)
  let exit: string | undefined
  child.once('exit', (code, signal) => {
    exit = code === null ? (signal ?? 'no exit code') : `exit code ${code}`
  })
  await once(child, 'spawn')
  const written = () => readFileSync(logFile).subarray(from).toString('utf8')
  const until = Date.now() + readyTimeoutMs
  for (;;) {
    const ready = readyIn(written(), child.pid)
    if (ready) {
      child.unref()
      return ready
    }
    if (exit !== undefined) throw failed(ctx, { text: written(), why: exit, logFile })
    if (Date.now() > until) {
      child.kill('SIGTERM')
      throw failed(ctx, { text: written(), why: `not ready after ${readyTimeoutMs / 1000} s`, logFile })
    }
    await new Promise((done) => setTimeout(done, 25))
  }
}

const failed = (
  ctx: CliContext,
  { text, why, logFile }: { readonly text: string; readonly why: string; readonly logFile: string },
): CliError => {
  // Plain text gives the reason; log lines are recognized by their form.
  const lines = text.trimEnd().split('\n')
  const textLines = lines.filter((line) => !line.startsWith('{"level"'))
  const last = (textLines.length > 0 ? textLines : lines).slice(-3).map(clean)
  const daemonRecord = readRecords(ctx.system).find(
    (record) => text.includes(`${new URL(record.url).host} is already in use`) && isRunning(record),
  )
  return new CliError(`The daemon did not start (${why}):\n${last.join('\n')}`, {
    advice: daemonRecord
      ? `The daemon that listens there keeps its data in ${daemonRecord.dataDir}. To stop it: tapchip daemon stop --data-dir ${shellQuoted(daemonRecord.dataDir)}`
      : `Its log: ${logFile}`,
  })
}

/** The ready line of our process: another one may write to the same log. */
const readyIn = (text: string, ownPid: number | undefined): Ready | undefined => {
  for (const line of text.split('\n').slice(0, -1)) {
    if (!line.startsWith('{"event":"ready"')) continue
    const { pid, url, dataDir } = parseObject(line) ?? {}
    if (pid === ownPid) return { pid: Number(pid), url: String(url), dataDir: String(dataDir) }
  }
  return undefined
}

const pathFor = (system: SystemPaths, dataDir: string): string =>
  `${startedDir(system)}/${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}.json`

/** Called first, so that no daemon is started that would not be found. @throws CliError if that cannot be written */
export const prepareStarted = (system: SystemPaths): void => {
  const path = startedDir(system)
  withFiles({ path, verb: 'written', advice: 'To keep records elsewhere: XDG_STATE_HOME=DIR' }, () => {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    accessSync(path, constants.W_OK)
  })
}

export const keepStarted = (system: SystemPaths, started: Started): void => {
  replaceFile(pathFor(system, started.dataDir), `${JSON.stringify(started)}\n`)
  // The directory of an ephemeral daemon is gone, or will never be used again if it was killed.
  for (const { dataDir, flags } of readStarted(system)) {
    const hasEnded = flags.includes('--ephemeral') && !runningIn(dataDir)
    if (hasEnded || !existsSync(dataDir)) forgetStarted(system, dataDir)
  }
}

export const forgetStarted = (system: SystemPaths, dataDir: string): void =>
  rmSync(pathFor(system, dataDir), { force: true })
