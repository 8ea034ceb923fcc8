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
import { AnvilNotStarted } from './not-started.ts'
import { removePidFile, writePidFile } from './orphan.ts'
import { loadState } from './saved-states.ts'

/** An anvil started by this process, with everything that drives it. */
export interface RunningChain {
  process: AnvilProcess
  connection: RpcConnection
  blocks: BlockMaker
}

export interface BootSettings extends Omit<BlockMakerSettings, 'connection'> {
  binary: string
  dir: string
  log: Logger
  endsWithDaemon: boolean
}

export const pidFileIn = (dir: string): string => join(dir, 'anvil.json')
export const cacheDirIn = (dir: string): string => join(dir, 'cache')

/**
 * Starts anvil from the newest state that it can load.
 * @param address the last one, which is reused if it is still free
 * @throws ChainNotRestored, AnvilNotStarted
 */
export async function bootChain(
  settings: BootSettings,
  address: AnvilAddress | undefined,
): Promise<RunningChain> {
  const marker = `0xfe${randomBytes(32).toString('hex')}`
  const pidFile = pidFileIn(settings.dir)
  const start = (at: AnvilAddress) =>
    spawnAnvil({
      binary: settings.binary,
      address: at,
      cacheDir: cacheDirIn(settings.dir),
      endsWithDaemon: settings.endsWithDaemon,
      spawned: (pid) => writePidFile(pidFile, { pid, marker }),
    })
  const process = await startSomewhere(settings, address, start)
  const connection = connectTo(process.url)
  try {
    const savedAt = await loadState(settings.dir, connection, settings.log)
    await mark(connection, marker)
    if ((await markerOf(connection)) !== marker)
      throw new Error('another chain answers at the address of ours')
    writePidFile(pidFile, { pid: process.pid, url: process.url, marker })
    const blocks = new BlockMaker({ ...settings, connection })
    await blocks.readLastBlock(savedAt)
    return { process, connection, blocks }
  } catch (error) {
    connection.close()
    await process.end()
    throw error
  }
}

/** In its own network namespace if the system allows it, else at the last address, else at a new one. */
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
      if (err instanceof AnvilNotStarted && !err.hasRun) throw err
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

const prefunding = 10n ** 24n

/** Gives a million ether to each address with less than half of that. */
export async function fundOn(connection: RpcConnection, addresses: Iterable<Address>): Promise<void> {
  for (const address of addresses) {
    const balance = z.string().parse(await connection.call('eth_getBalance', [address, 'latest']))
    if (BigInt(balance) < prefunding / 2n)
      await connection.call('anvil_setBalance', [address, `0x${prefunding.toString(16)}`])
  }
}
