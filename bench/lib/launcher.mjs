// Starts commands from the core that they shall run on, so that no other program runs in between, and tells how
// long they took. A child process: { command, args, env } comes in, { ms, code, ... } goes out; with `detached`
// the answer comes at once, with the moment of the start on the machine's monotonic clock.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

let left
/** How long after its start it wrote its first line. */
let ready

function run({ command, args, env }) {
  const start = process.hrtime.bigint()
  const { status, stderr } = spawnSync(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ms = Number(process.hrtime.bigint() - start) / 1e6
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  // With lib/peak.cjs.
  const peak = /peak (\d+)\n$/.exec(String(stderr))?.[1]
  return { ms, megabytes: peak === undefined ? undefined : Number(peak) / 1024 }
}

function leave({ command, args, env }) {
  const startedAt = process.hrtime.bigint()
  left = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'ignore'] })
  ready = once(left.stdout, 'data').then(() => ({ ms: Number(process.hrtime.bigint() - startedAt) / 1e6 }))
  return { startedAt, pid: left.pid }
}

async function stop() {
  const over = new Promise((resolve) => left.once('exit', resolve))
  left.kill('SIGTERM')
  await over
  left = undefined
  return {}
}

process.on('message', async (message) => {
  try {
    process.send(await { run, leave, wrote: () => ready, stop }[message.op](message))
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})
process.on('disconnect', () => {
  left?.kill('SIGKILL')
  process.exit(0)
})
