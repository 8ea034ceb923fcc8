import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onCore } from './machine.mjs'

/** Flags of a program that tells the most memory it took. */
export const peakOf = ['--require', fileURLToPath(new URL('peak.cjs', import.meta.url))]

const running = new Set()

function track(child) {
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

const isOver = (child) => child.exitCode !== null || child.signalCode !== null

/** Ends a process: politely, and after ten seconds for certain. */
export async function end(child) {
  if (isOver(child)) return
  const over = once(child, 'exit')
  child.kill('SIGTERM')
  const impatient = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await over
  clearTimeout(impatient)
}

export const endAll = () => Promise.all([...running].map(end))

/** For a last moment in which nothing can be awaited. */
export function killAll() {
  for (const child of running) child.kill('SIGKILL')
}

/** Starts a server of ours and waits for its ready line, one JSON object. */
export async function startServer(core, args, env = {}, program = process.execPath) {
  const { command, args: all } = onCore(core, program, args)
  const child = track(
    spawn(command, all, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } }),
  )
  let errors = ''
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-2000)
  })
  const lines = createInterface({ input: child.stdout })
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => text),
    once(child, 'exit').then(() => {
      throw new Error(`${args[0]} ended before it was ready: ${errors}`)
    }),
    once(child, 'error').then(([error]) => {
      throw error
    }),
  ])
  return { child, pid: child.pid, ready: JSON.parse(line), errors: () => errors }
}

/** Starts a program and waits for a line of its output that fits. */
export async function startLine(command, args, pattern) {
  const child = track(spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] }))
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (text) => pattern.test(text) && resolve(text))
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`${command} ended before it was ready`)))
  })
  return { child, line }
}

/** Starts one of our executables, whose lines of output are read as they come; `ended` is its exit code. */
export function startCommand(args, env = {}) {
  const child = track(
    spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } }),
  )
  let errors = ''
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-2000)
  })
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal)
  ended.catch(() => undefined)
  return { child, lines: createInterface({ input: child.stdout }), ended, errors: () => errors }
}

/** Starts a helper of ours that answers each message with one. */
export function startHelper(core, script) {
  const { command, args } = onCore(core, process.execPath, [script])
  const child = track(
    fork(script, [], {
      execPath: command,
      execArgv: args.slice(0, -1),
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    }),
  )
  const ask = async (message) => {
    child.send(message)
    const gone = new AbortController()
    const [answer] = await Promise.race([
      once(child, 'message', gone),
      once(child, 'exit', gone).then(() => {
        throw new Error(`${script} ended in the middle of its work`)
      }),
    ])
    gone.abort()
    if (answer.error !== undefined) throw new Error(`${script}: ${answer.error}`)
    return answer
  }
  return { child, pid: child.pid, ask, end: () => end(child) }
}
