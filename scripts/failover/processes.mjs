// Processes of a drill. All of them end by their number, whatever becomes of the drill.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const running = new Set()

/** PostgreSQL refuses to run as root. */
export function postgresUser() {
  if (process.getuid?.() !== 0) return {}
  const id = (what) => Number(spawnSync('id', [what, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

export const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** @param options of spawn, and `log`, a file for what it says */
export function start(command, args, { log, ...options } = {}) {
  const out = openSync(log, 'a')
  const child = spawn(command, args, { ...options, stdio: ['ignore', out, out] })
  running.add(child)
  const exited = once(child, 'exit').then(
    ([code]) => {
      running.delete(child)
      return code
    },
    (error) => {
      running.delete(child)
      throw new Error(`${command} did not start: ${error.message}`)
    },
  )
  exited.catch(() => undefined)
  return { pid: child.pid, exited, kill: (signal) => child.kill(signal) }
}

/** Ends whatever runs; what does not go by itself is killed. */
export async function endAll() {
  for (const child of [...running].reverse()) {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    const impatient = setTimeout(() => child.kill('SIGKILL'), 8000)
    await gone.catch(() => undefined)
    clearTimeout(impatient)
  }
}

export function killAll() {
  for (const child of running) child.kill('SIGKILL')
}

/** Asks until there is an answer. @throws Error with what was waited for */
export async function until(what, ask, withinMs = 60_000) {
  const end = performance.now() + withinMs
  for (;;) {
    const answer = await Promise.resolve()
      .then(ask)
      .catch(() => undefined)
    if (answer !== undefined && answer !== false) return answer
    if (performance.now() > end) throw new Error(`not within ${withinMs / 1000} s: ${what}`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

/** The number of a process from its file, as PostgreSQL writes it; undefined if it is not there. */
export function pidIn(file) {
  try {
    const [pid = 'NaN'] = readFileSync(file, 'utf8').split('\n')
    return Number(pid) > 1 ? Number(pid) : undefined
  } catch {
    return undefined
  }
}

/** A process and those that it started, as Linux tells. */
export function familyOf(pid) {
  const parents = new Map()
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    const [, parent] = statOf(name)
    if (parent !== undefined) parents.set(Number(name), Number(parent))
  }
  const family = new Set([pid])
  // Children have higher numbers than their parents, but for a rare turn of the numbers.
  for (const [child, parent] of [...parents].sort(([one], [other]) => one - other))
    if (family.has(parent)) family.add(child)
  return [...family]
}

const statOf = (pid) => {
  try {
    // The name may have spaces and brackets.
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}
