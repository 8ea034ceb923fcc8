import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import * as z from 'zod'
import type { RpcConnection } from '../rpc-connection.ts'
import {
  type AnvilAddress,
  type AnvilProcess,
  privateSocketPath,
  spawnAnvil,
  unguessableAddress,
} from './anvil-process.ts'
import { BlockMaker, type BlockMakerSettings } from './block-maker.ts'
import { connectTo, mark, markerOf } from './connect.ts'
import type { History } from './history.ts'
import { AnvilNotStarted } from './not-started.ts'
import { removePidFile, writePidFile } from './orphan.ts'
import type { Snapshot, Snapshots } from './snapshots.ts'

/** An anvil started by this process, with everything that drives it. */
export interface RunningChain {
  process: AnvilProcess
  connection: RpcConnection
  blocks: BlockMaker
  /** Its initial state, if any. */
  from: Snapshot | undefined
}

export interface BootSettings extends Omit<BlockMakerSettings, 'connection'> {
  binary: string
  dir: string
  log: Logger
  snapshots: Snapshots
  endsWithDaemon: boolean
  /** The part of the past to load; undefined: all of it. */
  history?: History
  /** True if there was ever a state whose predecessors are not on record any more. */
  hasHistory(): boolean
}

export const pidFileIn = (dir: string): string => join(dir, 'anvil.json')
export const cacheDirIn = (dir: string): string => join(dir, 'cache')

/** The chain's last state cannot be restored automatically: starting over would lose confirmed transactions. */
export class ChainNotRestored extends Error {
  override readonly name = 'ChainNotRestored'
}

/**
 * Starts anvil from the newest usable state. A state is set aside only if its bytes have changed: any other
 * failure (a full disk, for example) may be over at the next start.
 * @param address the last one, which is reused if it is still free
 * @throws ChainNotRestored if there are states but none can be loaded; AnvilNotStarted
 */
export async function bootChain(
  settings: BootSettings,
  address: AnvilAddress | undefined,
): Promise<RunningChain> {
  const { snapshots, log, dir } = settings
  const states = await snapshots.list()
  let reason = 'they are damaged'
  for (const snapshot of states) {
    try {
      const stateFile = await snapshots.unpack(snapshot, settings.history)
      if (stateFile !== undefined) {
        const chain = await boot(settings, address, { snapshot, stateFile })
        snapshots.loaded(snapshot)
        return chain
      }
      log.error({ snapshot: snapshot.name }, 'a state of the dev chain is damaged; taking the one before')
      await snapshots.setAside(snapshot)
    } catch (err) {
      if (isWithoutProcess(err)) throw err
      reason = err instanceof Error ? err.message : String(err)
      log.error(
        { err, snapshot: snapshot.name },
        'a state of the dev chain cannot be loaded; trying the one before',
      )
    } finally {
      await snapshots.clean()
    }
  }
  if (states.length > 0 || settings.hasHistory())
    throw new ChainNotRestored(
      `None of the embedded chain's states in ${dir} can be loaded: ${reason.trim().slice(0, 300)} ` +
        'They were not changed. Free some space or memory and start again, or restore the folder from a backup. ' +
        'To begin a new chain, on which nobody owns anything, move the folder away.',
    )
  return boot(settings, address)
}

const isWithoutProcess = (error: unknown): boolean => error instanceof AnvilNotStarted && !error.hasRun

async function boot(
  settings: BootSettings,
  address: AnvilAddress | undefined,
  from?: { snapshot: Snapshot; stateFile: string },
): Promise<RunningChain> {
  const marker = `0xfe${randomBytes(32).toString('hex')}`
  const pidFile = pidFileIn(settings.dir)
  const start = (at: AnvilAddress) =>
    spawnAnvil({
      binary: settings.binary,
      address: at,
      cacheDir: cacheDirIn(settings.dir),
      stateFile: from?.stateFile,
      endsWithDaemon: settings.endsWithDaemon,
      spawned: (pid) => writePidFile(pidFile, { pid, marker }),
    })
  const process = await startSomewhere(settings, address, start)
  const connection = connectTo(process.url)
  try {
    await mark(connection, marker)
    if ((await markerOf(connection)) !== marker)
      throw new Error('another chain answers at the address of ours')
    writePidFile(pidFile, { pid: process.pid, url: process.url, marker })
    const blocks = new BlockMaker({ ...settings, connection })
    await blocks.readLastBlock(from?.snapshot.takenAt)
    return { process, connection, blocks, from: from?.snapshot }
  } catch (error) {
    connection.close()
    await process.end()
    throw error
  }
}

/** In its own network if the system allows it, else at the last address, else at a new one. */
async function startSomewhere(
  { dir, log }: BootSettings,
  last: AnvilAddress | undefined,
  start: (address: AnvilAddress) => Promise<AnvilProcess>,
): Promise<AnvilProcess> {
  const socket = privateSocketPath(dir)
  if (socket !== undefined)
    try {
      return await start({ socket })
    } catch (err) {
      if (isWithoutProcess(err)) throw err
      log.warn({ err }, 'anvil does not start in a network of its own')
    }
  log.warn(
    'this system gives anvil no network of its own: other users of this machine can find its port and change the dev chain (docs/chains.md)',
  )
  if (last === undefined || 'socket' in last) return start(unguessableAddress())
  return start(last).catch(() => start(unguessableAddress()))
}

/** Ends a chain and everything that drives it. */
export async function haltChain({ process, connection, blocks }: RunningChain, dir: string): Promise<void> {
  const idle = blocks.close()
  // This also ends calls that a hanging chain never answered.
  await process.end()
  await idle
  connection.close()
  removePidFile(pidFileIn(dir))
}

const million = 10n ** 24n

/** Gives a million ether to each address with less than half of that. */
export async function fundOn(connection: RpcConnection, addresses: Iterable<Address>): Promise<void> {
  for (const address of addresses) {
    const balance = z.string().parse(await connection.call('eth_getBalance', [address, 'latest']))
    if (BigInt(balance) < million / 2n)
      await connection.call('anvil_setBalance', [address, `0x${million.toString(16)}`])
  }
}
