import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { clean } from '../../io/text.ts'

export interface Ready {
  readonly pid: number
  readonly url: string
  readonly dataDir: string
  readonly logFile: string
}

/** A seed with its deployments takes its time. */
const patienceMs = 120_000

/** Starts tapchipd on its own, with both its outputs in the log, and reads its ready line there. */
export const launch = async (
  ctx: CliContext,
  { flags, logDir }: { readonly flags: readonly string[]; readonly logDir: string },
): Promise<Ready> => {
  mkdirSync(logDir, { recursive: true, mode: 0o700 })
  const logFile = `${logDir}/daemon.log`
  const log = openSync(logFile, 'a', 0o600)
  const from = statSync(logFile).size
  const child = spawn(process.execPath, [ctx.at.daemonScript(), ...flags], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...ctx.at.env },
    cwd: ctx.at.cwd,
  })
  closeSync(log)
  let exit: number | string | undefined
  child.once('exit', (code, signal) => {
    exit = code ?? signal ?? 1
  })
  await once(child, 'spawn')
  const written = () => readFileSync(logFile).subarray(from).toString('utf8')
  const until = Date.now() + patienceMs
  for (;;) {
    const ready = readyIn(written())
    if (ready) {
      child.unref()
      return { ...ready, logFile }
    }
    if (exit !== undefined) throw failed(written(), exit, logFile)
    if (Date.now() > until) {
      child.kill('SIGTERM')
      throw failed(written(), `not ready after ${patienceMs / 1000} s`, logFile)
    }
    await new Promise((done) => setTimeout(done, 25))
  }
}

const failed = (text: string, why: number | string, logFile: string): CliError => {
  // What it says in plain words is why; log lines are told apart by their form.
  const lines = text.trimEnd().split('\n')
  const words = lines.filter((line) => !line.startsWith('{"level"'))
  const last = (words.length > 0 ? words : lines).slice(-3).map(clean)
  return new CliError(`The daemon did not start (${why}):\n${last.join('\n')}`, {
    advice: text.includes('EADDRINUSE')
      ? 'Another program listens there. What it is: tapchip doctor. A free port: --port 0'
      : `Its log: ${logFile}`,
  })
}

const readyIn = (text: string): Omit<Ready, 'logFile'> | undefined => {
  const line = text.split('\n').find((candidate) => candidate.startsWith('{"event":"ready"'))
  if (line === undefined) return undefined
  const value: unknown = JSON.parse(line)
  if (typeof value !== 'object' || value === null) return undefined
  const { pid, url, dataDir } = Object.fromEntries(Object.entries(value))
  return { pid: Number(pid), url: String(url), dataDir: String(dataDir) }
}
