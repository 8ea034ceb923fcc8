import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { lazy } from './config.ts'
import { describeError, exitCodes } from './errors.ts'
import { fileProblem } from './file-problem.ts'
import { cleanLines } from './io/text.ts'
import { runCli } from './program.ts'
import type { Interrupts, Output, System } from './system.ts'

const listeners = new Map<(signal: NodeJS.Signals) => void, (() => void) | undefined>()
let interrupted = false
/** Output was lost. */
let isOutputLost = false

/**
 * A closed pipe (`| head`) is not a failure. A batch that is running ends as after Ctrl-C: otherwise nobody would learn
 * that half of it is not done.
 */
const quietly = (stream: Output, name: string): Output =>
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') return unwritable(stream, name, error)
    if (listeners.size === 0 && !interrupted) process.exit(process.exitCode ?? 0)
    if (!interrupted) onInterrupt()
  })

/** Half a list looks like a short one, so the command ends; for messages on stderr, its result matters more. */
function unwritable(stream: Output, name: string, error: NodeJS.ErrnoException) {
  if (stream === process.stderr || isOutputLost) return
  isOutputLost = true
  const problem = fileProblem(error, { path: name, verb: 'written' })
  process.stderr.write(`${cleanLines(describeError(problem ?? error).lines.join('\n'))}\n`)
  if (listeners.size === 0) process.exit(exitCodes.failed)
  if (!interrupted) onInterrupt()
}

function onInterrupt(signal: NodeJS.Signals = 'SIGINT') {
  // A terminal that closes says so twice, by its shell too: nobody is impatient.
  if (interrupted && signal === 'SIGHUP') return
  if (interrupted) for (const last of listeners.values()) last?.()
  if (interrupted || listeners.size === 0) process.exit(130)
  interrupted = true
  for (const listener of listeners.keys()) listener(signal)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onInterrupt)
// The packages for prompts read it from there.
if (process.argv.includes('--no-color')) process.env.NO_COLOR = '1'

const interrupts: Interrupts = {
  listen: (handler, last) => {
    listeners.set(handler, last)
    return () => listeners.delete(handler)
  },
}

const stdout = lazy(() => quietly(process.stdout, 'Standard output'))
const stderr = lazy(() => quietly(process.stderr, 'Standard error'))
const system: System = {
  env: process.env,
  get home() {
    return process.env.HOME || homedir()
  },
  get cwd() {
    return process.cwd()
  },
  get stdin() {
    return process.stdin
  },
  get stdout() {
    return stdout()
  },
  get stderr() {
    return stderr()
  },
  now: () => new Date(),
  interrupts,
  atExit: (handler) => {
    process.on('exit', handler)
    return () => process.off('exit', handler)
  },
  daemonScript: () => join(dirname(realpathSync(process.argv[1] ?? '')), 'tapchipd.js'),
}

void runCli(system, process.argv.slice(2)).then((code) => {
  process.exitCode = isOutputLost && code === exitCodes.done ? exitCodes.failed : code
})
