import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Address } from 'viem'
import * as z from 'zod'
import { type AnvilProcess, type Place, secretPlace, spawnAnvil } from './anvil-process.ts'
import { BlockMaker, type BlockMakerSettings } from './block-maker.ts'
import { removePidFile, writePidFile } from './left-behind.ts'
import { mark, markerOf } from './marker.ts'
import { RpcConnection } from './rpc.ts'
import type { Snapshot, Snapshots } from './snapshots.ts'

/** An anvil that this process started, and what drives it. */
export interface RunningChain {
  process: AnvilProcess
  connection: RpcConnection
  blocks: BlockMaker
  /** What it began with; undefined: nothing. */
  from: Snapshot | undefined
}

export interface BootSettings extends Omit<BlockMakerSettings, 'connection'> {
  binary: string
  dir: string
  log: Logger
  snapshots: Snapshots
}

export const pidFileIn = (dir: string): string => join(dir, 'anvil.json')
export const cacheDirIn = (dir: string): string => join(dir, 'cache')

/**
 * Starts anvil with the newest state that it can use.
 * @param place where the last one was, so that its address stays; another one if that is taken
 * @throws Error when it does not even start without a state
 */
export async function bootChain(settings: BootSettings, place: Place | undefined): Promise<RunningChain> {
  const { snapshots, log } = settings
  for (const snapshot of await snapshots.list()) {
    const stateFile = await snapshots.unpack(snapshot).catch(() => undefined)
    try {
      if (stateFile !== undefined) return await boot(settings, place, { snapshot, stateFile })
      log.error({ snapshot: snapshot.name }, 'a state of the dev chain is damaged; taking the one before')
      await snapshots.setAside(snapshot)
    } catch (err) {
      log.error({ err, snapshot: snapshot.name }, 'anvil cannot use a state; trying the one before')
    } finally {
      await snapshots.clean()
    }
  }
  return boot(settings, place)
}

async function boot(
  settings: BootSettings,
  place: Place | undefined,
  from?: { snapshot: Snapshot; stateFile: string },
): Promise<RunningChain> {
  const marker = `0xfe${randomBytes(32).toString('hex')}`
  const pidFile = pidFileIn(settings.dir)
  const start = (at: Place) =>
    spawnAnvil({
      binary: settings.binary,
      place: at,
      cacheDir: cacheDirIn(settings.dir),
      stateFile: from?.stateFile,
      spawned: (pid) => writePidFile(pidFile, { pid, marker }),
    })
  const process = await (place ? start(place).catch(() => start(secretPlace())) : start(secretPlace()))
  const connection = new RpcConnection(process.url)
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

/** Ends a chain and all that drives it. */
export async function haltChain({ process, connection, blocks }: RunningChain, dir: string): Promise<void> {
  await blocks.close()
  await process.end()
  connection.close()
  removePidFile(pidFileIn(dir))
}

const million = 10n ** 24n

/** Gives a million ether to whoever has less than half of that. */
export async function fundOn(connection: RpcConnection, addresses: Iterable<Address>): Promise<void> {
  for (const address of addresses) {
    const balance = z.string().parse(await connection.call('eth_getBalance', [address, 'latest']))
    if (BigInt(balance) < million / 2n)
      await connection.call('anvil_setBalance', [address, `0x${million.toString(16)}`])
  }
}
