import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { lazy } from './lazy.ts'
import { runCli } from './program.ts'
import type { Interrupts, Output, Surroundings } from './surroundings.ts'

const listeners = new Set<() => void>()
let interrupted = false

/**
 * The reader of our output has gone (`| head`): that is its good right, and no failure. A batch that is under way
 * ends in order all the same, as at Ctrl-C: nobody would learn otherwise that half of it is not done.
 */
const quietly = (stream: Output): Output =>
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (listeners.size === 0 && !interrupted) process.exit(process.exitCode ?? 0)
    if (!interrupted) onInterrupt()
  })

function onInterrupt() {
  if (interrupted || listeners.size === 0) process.exit(130)
  interrupted = true
  for (const listener of listeners) listener()
}
process.on('SIGINT', onInterrupt)
// The packages that ask questions look for it there.
if (process.argv.includes('--no-color')) process.env.NO_COLOR = '1'

const interrupts: Interrupts = {
  listen: (handler) => {
    listeners.add(handler)
    return () => listeners.delete(handler)
  },
}

const stdout = lazy(() => quietly(process.stdout))
const stderr = lazy(() => quietly(process.stderr))
const surroundings: Surroundings = {
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
  daemonScript: () => join(dirname(realpathSync(process.argv[1] ?? '')), 'tapchipd.js'),
}

runCli(surroundings, process.argv.slice(2)).then((code) => {
  process.exitCode = code
})
