import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, existsSync, readlinkSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { devChainId } from './dev-keys.ts'
import { AnvilNotStarted, notSpawned } from './not-started.ts'

/**
 * Runs a command in its own empty network namespace. unshare replaces itself with the command, so the pid is
 * the command's.
 */
const ownNetworkCommand = ['/usr/bin/unshare', '--map-root-user', '--net', '--'] as const

/** Has the kernel kill the command when its parent is gone, however that ended. It replaces itself with the command. */
const killedWithParent = ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] as const

// The kernel's limit for a socket path, including the terminating zero (unix(7)).
const maxPathLength = 107

/**
 * Returns the path of a Unix socket in the user's private directory, for an anvil in its own network namespace, where
 * no one can reach its port. Undefined if this system cannot create one, or if the path is too long.
 */
export function privateSocketPath(dir: string): string | undefined {
  const path = join(dir, 'anvil.sock')
  const isPossible = process.platform === 'linux' && existsSync(ownNetworkCommand[0])
  return isPossible && Buffer.byteLength(path) <= maxPathLength ? path : undefined
}

/** @param pid of a running process started by {@link ownNetworkCommand} */
function isInOwnNetwork(pid: number): boolean {
  const networkOf = (process: string) => readlinkSync(`/proc/${process}/ns/net`)
  try {
    return networkOf(String(pid)) !== networkOf('self')
  } catch {
    return false
  }
}

/** A Unix socket that only this anvil has, or a port. */
export type AnvilAddress = { socket: string } | { host: string; port: number }

export interface AnvilProcess {
  readonly pid: number
  readonly address: AnvilAddress
  readonly url: string
  /** Resolves when the process is gone, with its last output on standard error. */
  readonly exited: Promise<string>
  end(): Promise<void>
}

interface AnvilSettings {
  binary: string
  address: AnvilAddress
  /** For states of old blocks. In anvil's command line, it also identifies the chain's owner. */
  cacheDir: string
  endsWithDaemon: boolean
  /** Called once the process exists, before it listens. */
  spawned(pid: number): void
}

/**
 * Returns an address that no one can guess, if the system has one. anvil accepts WebSockets of any origin and
 * checks no Host header: a web page that tries every port of 127.0.0.1 would find it and control the chain. On
 * Linux and Windows all of 127.0.0.0/8 is this machine; elsewhere (macOS) only the port is random.
 */
export function unguessableAddress(platform: NodeJS.Platform = process.platform): AnvilAddress {
  if (platform !== 'linux' && platform !== 'win32') return { host: '127.0.0.1', port: 0 }
  return { host: `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(2, 255)}`, port: 0 }
}

const listenFlags = (address: AnvilAddress): string[] =>
  'socket' in address
    ? ['--host', '127.0.0.1', '--port', '0', '--ipc', address.socket]
    : ['--host', address.host, '--port', String(address.port)]

const argumentsFor = ({ address, cacheDir }: AnvilSettings): string[] => [
  ...[...listenFlags(address), '--chain-id', String(devChainId)],
  // BlockMaker makes the blocks: automine makes hundreds of empty ones under a burst.
  ...['--no-mining', '--no-cors', '--no-request-size-limit'],
  // At this minimum, the base fee cannot fall and rises by single wei; blocks are as large as mainnet's.
  ...['--base-fee', '7', '--gas-limit', '60000000'],
  // Each state is a full copy and accounts for most of anvil's memory. A call that is running while the chain
  // catches up on an idle minute's blocks must still find its own state.
  ...['--prune-history', '16', '--cache-path', cacheDir],
  // Receipts and logs of older blocks are dropped: they would make up most of a state, which is saved every
  // few seconds.
  ...['--transaction-block-keeper', '1000'],
]

/** anvil announces that it listens before its socket exists. */
async function untilItListens(socket: string, exited: Promise<string>): Promise<void> {
  let isGone = false
  void exited.then(() => {
    isGone = true
  })
  for (let tries = 0; !isGone && tries < 500; tries += 1) {
    const isListening = await new Promise<boolean>((resolve) => {
      const attempt = connect(socket, () => resolve(true)).on('error', () => resolve(false))
      attempt.once('connect', () => attempt.destroy())
    })
    // Only the owner may write to it, whatever the directory's permissions.
    if (isListening) return chmodSync(socket, 0o600)
    await wait(10)
  }
  throw new Error(`anvil does not listen at ${socket}: ${isGone ? await exited : 'it is silent'}`)
}

type Child = ChildProcessByStdio<null, Readable, Readable> & { readonly pid: number }

/** @throws AnvilNotStarted if the system cannot start a process */
async function begin(settings: AnvilSettings): Promise<Child> {
  const { address, binary, cacheDir } = settings
  const [command, ...args] = [
    ...('socket' in address ? ownNetworkCommand : []),
    // After the change of namespaces, which would clear it.
    ...(settings.endsWithDaemon && existsSync(killedWithParent[0]) ? killedWithParent : []),
    binary,
    ...argumentsFor(settings),
  ]
  try {
    // Otherwise unshare would start and fail only later.
    accessSync(binary, constants.X_OK)
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // In its own process group, so that Ctrl-C or a SIGTERM to the daemon's group does not end the chain
      // before the daemon has answered its last requests.
      detached: process.platform !== 'win32',
      // Not the daemon's environment: it may contain keys, and anvil reads settings from it.
      env: { HOME: cacheDir },
    })
    if (child.pid !== undefined) return child as Child
    // Without descriptors there are no streams either. Handling the error keeps it from ending the daemon.
    const [error] = await once(child, 'error')
    throw error
  } catch (error) {
    throw notSpawned(binary, error)
  }
}

/** Starts anvil and waits until it listens. @throws AnvilNotStarted with its output if it ends instead */
export async function spawnAnvil(settings: AnvilSettings): Promise<AnvilProcess> {
  const { address } = settings
  if ('socket' in address) rmSync(address.socket, { force: true })
  const child = await begin(settings)
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2000)
  })
  const exited = new Promise<string>((resolve) => {
    // `close` comes after all output.
    child.once('close', () => resolve(errors))
    child.once('error', (error) => resolve(error.message))
  })
  // A daemon that ends without stopping its chain kills it; the pid file covers kill -9.
  const endWithDaemon = () => child.kill('SIGKILL')
  process.once('exit', endWithDaemon)
  void exited.then(() => process.off('exit', endWithDaemon))
  try {
    settings.spawned(child.pid)
  } catch (error) {
    // Otherwise no one would know about the process.
    child.kill('SIGKILL')
    throw error
  }

  let printed = ''
  const listening = new Promise<number>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      printed = (printed + chunk.toString()).slice(-10_000)
      const [, port] = /^Listening on [\d.]+:(\d+)\r?\n/m.exec(printed) ?? []
      if (port !== undefined) resolve(Number(port))
    })
  })
  const port = await Promise.race([listening, exited.then(() => undefined)])
  if (port === undefined)
    throw new AnvilNotStarted(`The embedded chain did not start. anvil says: ${errors.trim() || 'nothing'}`, {
      hasRun: true,
    })
  // anvil prints a line for every call: unread output would fill the pipe and block it.
  child.stdout.removeAllListeners('data').resume()
  if ('socket' in address)
    try {
      // Exit code 0 is not enough proof.
      if (!isInOwnNetwork(child.pid)) throw new Error('the system gives anvil no network of its own')
      await untilItListens(address.socket, exited)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  const where = 'socket' in address ? address : { ...address, port }
  return {
    pid: child.pid,
    address: where,
    url: 'socket' in where ? `unix:${where.socket}` : `http://${where.host}:${where.port}`,
    exited,
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 2000)
      await gone
      clearTimeout(killTimer)
    },
  }
}
