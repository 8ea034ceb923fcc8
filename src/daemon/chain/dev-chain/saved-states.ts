import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import * as z from 'zod'
import { BackgroundLoop } from '../../../values/background-loop.ts'
import { replaceLargeFile } from '../../../values/files.ts'
import type { RpcConnection } from '../rpc-connection.ts'
import type { BlockMaker } from './block-maker.ts'

const kept = 3
// Earlier versions added a date and a hash.
const pattern = /^state-(\d{8})\b.*\.gz$/
/** Unfinished writes, and leftover files of earlier versions. */
const leftover = /\.new$|^(loading|renewing)\.json$|^sent-\d{8}\.log$/
/** Large states take long to write and to load. */
const timeoutMs = 120_000
const hex = z.string().regex(/^0x[0-9a-f]*$/i)

/** The chain's last state cannot be restored automatically: starting over would lose confirmed transactions. */
export class ChainNotRestored extends Error {
  override readonly name = 'ChainNotRestored'
}

/** Newest first. */
async function savedStates(dir: string): Promise<{ number: number; file: string }[]> {
  return (await readdir(dir))
    .flatMap((name) => {
      const number = pattern.exec(name)?.[1]
      return number === undefined ? [] : [{ number: Number(number), file: join(dir, name) }]
    })
    .sort((a, b) => b.number - a.number)
}

export async function removeLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) if (leftover.test(name)) await rm(join(dir, name), { force: true })
}

interface SavedChain {
  connection: RpcConnection
  /** Absent if nothing makes blocks, because that process has ended. */
  blocks?: Pick<BlockMaker, 'betweenBlocks'>
}

/**
 * Saves a state beside the ones before it, whole or not at all.
 * @returns its size in bytes, and for how many milliseconds the chain stood still
 */
export async function saveState(dir: string, { connection, blocks }: SavedChain) {
  let stillMs = 0
  const dump = async () => {
    const started = performance.now()
    const state = await connection.call('anvil_dumpState', [], { timeoutMs })
    stillMs = performance.now() - started
    return state
  }
  // anvil reads the receipts before the accounts, so a block made in between would appear only in the
  // accounts: its transactions would seem unmined and be sent again.
  const state = hex.parse(await (blocks === undefined ? dump() : blocks.betweenBlocks(dump)))
  const bytes = Buffer.from(state.slice(2), 'hex')
  const number = ((await savedStates(dir))[0]?.number ?? 0) + 1
  await replaceLargeFile(join(dir, `state-${String(number).padStart(8, '0')}.gz`), bytes)
  for (const { file } of (await savedStates(dir)).slice(kept)) await rm(file, { force: true })
  return { bytes: bytes.length, stillMs }
}

/**
 * Loads the newest state that can be loaded.
 * @returns when it was saved, in milliseconds; undefined if there is none
 * @throws ChainNotRestored if there are states but none can be loaded
 */
export async function loadState(
  dir: string,
  connection: RpcConnection,
  log: Logger,
): Promise<number | undefined> {
  let reason: string | undefined
  for (const { file } of await savedStates(dir))
    try {
      const state = `0x${(await readFile(file)).toString('hex')}`
      const outcome = await connection.ask({ method: 'anvil_loadState', params: [state] }, { timeoutMs })
      // Thrown here, because the connection's error would contain the whole state.
      if ('error' in outcome) throw new Error(`anvil says: ${outcome.error.message}`)
      return (await stat(file)).mtimeMs
    } catch (err) {
      reason = err instanceof Error ? err.message : String(err)
      log.error({ err, file }, 'a state of the dev chain cannot be loaded; trying the previous one')
    }
  if (reason === undefined) return undefined
  throw new ChainNotRestored(
    `None of the embedded chain's states in ${dir} can be loaded: ${reason.trim().slice(0, 300)} ` +
      'They were not changed. Free some space or memory and start again, or restore the folder from a backup. ' +
      'To begin a new chain, on which nobody owns anything, move the folder away.',
  )
}

interface KeeperSettings {
  dir: string
  log: Logger
  chain(): SavedChain | undefined
  /** A state is saved this long after the first change since the last one. */
  saveAfterMs: number
}

/** Saves the chain's state soon after it changes, so that a kill loses no more than the last seconds. */
export class StateKeeper {
  readonly #settings: KeeperSettings
  readonly #loop: BackgroundLoop
  /** The first change that is in no saved state. */
  #changedAt: number | undefined
  #notBefore = 0
  #saving: Promise<unknown> = Promise.resolve()

  constructor(settings: KeeperSettings) {
    this.#settings = settings
    const { saveAfterMs, log } = settings
    const restMs = Math.max(20, saveAfterMs / 4)
    this.#loop = new BackgroundLoop({
      run: async () => (this.#isDue() ? this.save() : undefined),
      firstMs: restMs,
      restMs: () => restMs,
      failed: (err) => log.warn({ err }, 'the state of the dev chain could not be saved; trying again later'),
    })
    this.#loop.start()
  }

  changed(): void {
    this.#changedAt ??= performance.now()
  }

  save(): Promise<void> {
    const saved = this.#saving.then(() => this.#save())
    this.#saving = saved.catch(() => undefined)
    return saved
  }

  /** @param withSave false: the chain no longer answers */
  async close({ withSave }: { withSave: boolean }): Promise<void> {
    const stopped = this.#loop.stop()
    if (!withSave) return
    await stopped
    if (this.#changedAt !== undefined) await this.save()
  }

  #isDue(): boolean {
    const now = performance.now()
    const isOld = this.#changedAt !== undefined && now - this.#changedAt >= this.#settings.saveAfterMs
    return isOld && now >= this.#notBefore
  }

  async #save(): Promise<void> {
    const { dir, log } = this.#settings
    const chain = this.#settings.chain()
    if (!chain) return
    const started = performance.now()
    const changedAt = this.#changedAt ?? started
    this.#changedAt = undefined
    let costMs: number | undefined
    try {
      const { bytes, stillMs } = await saveState(dir, chain)
      costMs = stillMs
      log.debug(
        { bytes, tookMs: Math.round(performance.now() - started) },
        'saved the state of the dev chain',
      )
    } catch (error) {
      this.#changedAt = changedAt
      throw error
    } finally {
      // The chain stands still for at most a twentieth of its time. While many transactions come, a save waits for
      // their blocks as well, which costs nothing.
      this.#notBefore = performance.now() + 20 * (costMs ?? performance.now() - started)
    }
  }
}
