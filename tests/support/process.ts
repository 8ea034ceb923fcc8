import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { databaseOf, isPostgres } from './postgres.ts'

const root = resolve(import.meta.dirname, '../..')
const running = new Set<ChildProcess>()

// A test that fails leaves nothing behind: what it started ends with the process that ran it.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export interface DaemonProcess {
  ready: {
    event: string
    url: string
    admin: string
    pid: number
    dataDir: string
    chains: Record<string, string>
  }
  /** Everything that it wrote on standard error. */
  log: () => string
  /** Its exit code, once it has ended. */
  exited: Promise<number | null>
  /** SIGTERM, and its exit code. */
  stop(): Promise<number | null>
  /** SIGKILL. */
  kill(): Promise<void>
}

/** The executables, as a user runs them. */
export const bin = (name: 'tapchip' | 'tapchipd'): string => join(root, 'bin', `${name}.js`)

/**
 * Runs `tapchipd` until it is ready; with `ownGroup`, its pid is also that of its process group.
 * @param options.node another Node @param options.script another installation's
 * @throws Error with what it said, where it ended instead
 */
export async function spawnDaemon(
  args: string[],
  env: Record<string, string> = {},
  { ownGroup = false, node = process.execPath, script = bin('tapchipd') } = {},
): Promise<DaemonProcess> {
  const database = env.TAPCHIP_DATABASE_URL === undefined ? await databaseFor(args) : {}
  const child = spawn(node, [script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: ownGroup,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...database, ...env },
  })
  running.add(child)
  const exited = once(child, 'exit').then(([code]) => {
    running.delete(child)
    return code as number | null
  })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString()
  })
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text))
  const first = await Promise.race([line, exited.then((code) => `exit ${code}`)])
  if (first.startsWith('exit')) throw new Error(`tapchipd ended with ${first}: ${log}`)
  return {
    ready: JSON.parse(first),
    log: () => log,
    exited,
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

/** Where the tests run on a server, a daemon that is told of no database has one there, and a chain as ever. */
async function databaseFor(args: string[]): Promise<Record<string, string>> {
  const dataDir = args[args.indexOf('--data-dir') + 1]
  if (!isPostgres || !args.includes('--data-dir') || dataDir === undefined) return {}
  return { TAPCHIP_DEV_CHAIN: 'on', ...(await databaseOf(dataDir)) }
}

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs an executable to its end. */
export async function run(
  name: 'tapchip' | 'tapchipd',
  args: string[],
  env: Record<string, string> = {},
  input = '',
): Promise<Finished> {
  const child = spawn(process.execPath, [bin(name), ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
  })
  running.add(child)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  running.delete(child)
  return { code: code as number | null, stdout, stderr }
}

/** Starts `tapchipd` and kills it as soon as a file exists. @throws Error when it ended before */
export async function killOnceThere(file: string, args: string[]): Promise<void> {
  const child = spawn(process.execPath, [bin('tapchipd'), ...args], { stdio: 'ignore' })
  running.add(child)
  const exited = once(child, 'exit')
  while (!existsSync(file) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 1))
  child.kill('SIGKILL')
  const [code] = await exited
  running.delete(child)
  if (code !== null) throw new Error(`tapchipd ended with exit code ${code} before ${file} was there`)
}
