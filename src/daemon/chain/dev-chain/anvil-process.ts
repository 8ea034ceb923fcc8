import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, readlinkSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { devChainId } from './dev-keys.ts'
import { AnvilNotStarted, isShortage, notSpawned } from './not-started.ts'

/** What stands before a command that has a network of its own, in which nobody else is: it takes the command's address. */
export const ownNetworkCommand = ['/usr/bin/unshare', '--map-root-user', '--net', '--'] as const

// What the kernel keeps of an address, with the zero at its end (unix(7)).
const longestPath = 107

/**
 * The Unix socket that an anvil is reached by whose own port nobody reaches: in a directory that is the user's ownNetworkCommand,
 * out of a network of its own. undefined: this system, or a container's rules, give an ordinary process no network of
 * its own, or the path is too long for a socket.
 * @throws AnvilNotStarted where it is open, since the system is short of something: then others get no way in instead
 */
export async function privateSocketPath(dir: string): Promise<string | undefined> {
  const path = join(dir, 'anvil.sock')
  if (process.platform !== 'linux' || Buffer.byteLength(path) > longestPath) return undefined
  const [command, ...args] = ownNetworkCommand
  const own = '/proc/self/ns/net'
  try {
    // It says by itself that it worked, and is not believed where the network is the same.
    const { stdout } = await promisify(execFile)(command, [...args, '/usr/bin/readlink', own], { env: {} })
    return stdout.trim() !== '' && stdout.trim() !== readlinkSync(own) ? path : undefined
  } catch (error) {
    if (isShortage(error)) throw notSpawned(command, error)
    return undefined
  }
}

/** Where anvil is asked: at a Unix socket that it ownNetworkCommand is reached by, or at a port. */
export type AnvilAddress = { socket: string } | { host: string; port: number }

export interface AnvilProcess {
  readonly pid: number
  readonly address: AnvilAddress
  /** http://… or unix:/path */
  readonly url: string
  /** Resolves when the process is gone, with what it said last on standard error. */
  readonly exited: Promise<string>
  /** SIGTERM, and SIGKILL when that does not help. */
  end(): Promise<void>
}

export interface AnvilSettings {
  binary: string
  address: AnvilAddress
  /** Where anvil may keep states of old blocks. In its command line, it also says whose chain this is. */
  cacheDir: string
  /** A state to begin with, as JSON. */
  stateFile: string | undefined
  /** Called as soon as there is a process, before it listens. */
  spawned(pid: number): void
}

/** The binary itself: the package's own script is one more process, which would outlive or hide the chain. */
export function anvilBinary(): string {
  const fromAnvil = createRequire(import.meta.url)
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const platform = `@foundry-rs/anvil-${process.platform}-${architecture}`
  try {
    return fromAnvil.resolve(`${platform}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`)
  } catch (cause) {
    throw new AnvilNotStarted(
      `The embedded chain cannot be started: its program, ${platform}, is not installed. ` +
        `Install it (npm install --no-save ${platform}), or do without: TAPCHIP_DEV_CHAIN=off.`,
      { hasRun: false, cause },
    )
  }
}

/**
 * An address nobody can guess, where the system has one. anvil answers WebSockets of any origin, and checks no Host:
 * a web page that tries every port of 127.0.0.1 would find it, and could do with the chain what it likes. On Linux
 * and Windows all of 127.0.0.0/8 is this machine; elsewhere (macOS) the port ownNetworkCommand must do.
 */
export function unguessableAddress(platform: NodeJS.Platform = process.platform): AnvilAddress {
  if (platform !== 'linux' && platform !== 'win32') return { host: '127.0.0.1', port: 0 }
  return { host: `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(2, 255)}`, port: 0 }
}

const listenFlags = (address: AnvilAddress): string[] =>
  'socket' in address
    ? ['--host', '127.0.0.1', '--port', '0', '--ipc', address.socket]
    : ['--host', address.host, '--port', String(address.port)]

const argumentsFor = ({ address, cacheDir, stateFile }: AnvilSettings): string[] => [
  ...[...listenFlags(address), '--chain-id', String(devChainId)],
  // Blocks are made by BlockMaker: automine makes hundreds of empty ones under a burst.
  ...['--no-mining', '--no-cors', '--no-request-size-limit'],
  // At this floor a base fee cannot fall, and rises by single wei; blocks are as large as the main network's.
  ...['--base-fee', '7', '--gas-limit', '60000000'],
  // Each of them is a copy of the whole state, and by far most of anvil's memory. A call that is under way while the
  // chain catches up on the blocks of an idle minute must still find its own.
  ...['--prune-history', '16', '--cache-path', cacheDir],
  ...(stateFile === undefined ? [] : ['--load-state', stateFile]),
]

/** It says that it listens before it does so at its socket. */
async function untilItListens(socket: string, exited: Promise<string>): Promise<void> {
  let isGone = false
  void exited.then(() => {
    isGone = true
  })
  for (let tries = 0; !isGone && tries < 500; tries += 1) {
    const isThere = await new Promise<boolean>((resolve) => {
      const attempt = connect(socket, () => resolve(true)).on('error', () => resolve(false))
      attempt.once('connect', () => attempt.destroy())
    })
    // Whatever this system thinks of the directory, nobody else is to write to it.
    if (isThere) return chmodSync(socket, 0o600)
    await wait(10)
  }
  throw new Error(`anvil does not listen at ${socket}: ${isGone ? await exited : 'it is silent'}`)
}

type Child = ChildProcessByStdio<null, Readable, Readable> & { readonly pid: number }

/** @throws AnvilNotStarted where the system gives no process */
async function begin(settings: AnvilSettings): Promise<Child> {
  const { address, binary, cacheDir } = settings
  const [command, ...args] = [
    ...('socket' in address ? ownNetworkCommand : []),
    binary,
    ...argumentsFor(settings),
  ]
  try {
    // What stands before it would start all the same.
    accessSync(binary, constants.X_OK)
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      // In its own process group: Ctrl-C, or a SIGTERM to the daemon's group, must not end the chain before the daemon
      // has answered its last requests.
      detached: process.platform !== 'win32',
      // None of the daemon's environment: it may hold keys, and anvil reads settings from it.
      env: { HOME: cacheDir },
    })
    if (child.pid !== undefined) return child as Child
    // Out of descriptors it has no streams either. That its error is heard keeps it from ending the daemon.
    const [error] = await once(child, 'error')
    throw error
  } catch (error) {
    throw notSpawned(binary, error)
  }
}

/** Starts anvil and waits until it listens. @throws AnvilNotStarted with what it said, where it ended instead */
export async function spawnAnvil(settings: AnvilSettings): Promise<AnvilProcess> {
  const { address } = settings
  if ('socket' in address) rmSync(address.socket, { force: true })
  const child = await begin(settings)
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2000)
  })
  const exited = new Promise<string>((resolve) => {
    // Not before its last words are here.
    child.once('close', () => resolve(errors))
    child.once('error', (error) => resolve(error.message))
  })
  // A daemon that ends without stopping its chain takes it along; kill -9 is what the pid file is for.
  const endWithDaemon = () => child.kill('SIGKILL')
  process.once('exit', endWithDaemon)
  void exited.then(() => process.off('exit', endWithDaemon))
  try {
    settings.spawned(child.pid)
  } catch (error) {
    // Nobody would know of it.
    child.kill('SIGKILL')
    throw error
  }

  const lines = createInterface({ input: child.stdout })
  const listening = new Promise<number>((resolve) => {
    lines.on('line', (line) => {
      const [, port] = /^Listening on [\d.]+:(\d+)$/.exec(line) ?? []
      if (port !== undefined) resolve(Number(port))
    })
  })
  const port = await Promise.race([listening, exited.then(() => undefined)])
  if (port === undefined)
    throw new AnvilNotStarted(`The embedded chain did not start. anvil says: ${errors.trim() || 'nothing'}`, {
      hasRun: true,
    })
  // It prints a line for every call: read, or the pipe fills and it stands still.
  lines.close()
  child.stdout.resume()
  if ('socket' in address)
    await untilItListens(address.socket, exited).catch((error: unknown) => {
      child.kill('SIGKILL')
      throw error
    })
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
      const impatient = setTimeout(() => child.kill('SIGKILL'), 2000)
      await gone
      clearTimeout(impatient)
    },
  }
}
