import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const running = new Set<ChildProcess>()

// A test that fails leaves nothing behind: a chain ends with the process that started it.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface Anvil {
  url: string
  port: number
  pid: number
  /** SIGTERM, and what it left as its exit code. */
  stop(): Promise<number | null>
  /** SIGKILL. */
  kill(): Promise<void>
}

/** The binary itself: the package's own script is one more process, which would outlive or hide the chain. */
export function anvilBinary(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  return createRequire(import.meta.url).resolve(
    `@foundry-rs/anvil-${process.platform}-${architecture}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`,
  )
}

/** Starts anvil on a free port of loopback. @throws Error with what it said, where it ended instead */
export async function startAnvil(args: string[] = []): Promise<Anvil> {
  const child = spawn(anvilBinary(), ['--host', '127.0.0.1', '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
  })
  running.add(child)
  const exited = once(child, 'exit').then(([code]) => {
    running.delete(child)
    return code as number | null
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const listening = new Promise<number>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, port] = /^Listening on 127\.0\.0\.1:(\d+)$/.exec(line) ?? []
      if (port !== undefined) resolve(Number(port))
    })
  })
  const port = await Promise.race([listening, exited.then(() => undefined)])
  if (port === undefined || child.pid === undefined) throw new Error(`anvil did not start: ${errors}`)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid,
    stop: async () => {
      child.kill('SIGTERM')
      return exited
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
