import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { newFileFlags, replaceLargeFile } from '../../../values/replace-file.ts'
import { type History, withoutOld } from './history.ts'

/** A saved state. Its file name contains all of this, so that file and metadata cannot diverge. */
export interface Snapshot {
  number: number
  /** Milliseconds since the epoch. */
  takenAt: number
  name: string
  hash: string
}

const kept = 3
const pattern = /^state-(\d{8})-(\d+)-([0-9a-f]{32})\.gz$/
const unpacked = 'loading.json'
const prepared = 'renewing.json'
const unzip = promisify(gunzip)
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32)

/** The last states of a chain, each written atomically. */
export class Snapshots {
  readonly #dir: string
  /** The newest state that anvil has loaded, so it is known to be good. */
  #proven: Snapshot | undefined
  /** The name of the state that {@link prepare} has unpacked. */
  #prepared: string | undefined

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Marks a state as good. It is kept until a newer one has been loaded. */
  loaded(snapshot: Snapshot): void {
    this.#proven = snapshot
  }

  /** Newest first. */
  async list(): Promise<Snapshot[]> {
    return (await readdir(this.#dir))
      .flatMap((name) => {
        const [, number, takenAt, hash] = pattern.exec(name) ?? []
        return hash === undefined ? [] : [{ number: Number(number), takenAt: Number(takenAt), name, hash }]
      })
      .sort((a, b) => b.number - a.number || b.takenAt - a.takenAt)
  }

  /** @param state the compressed JSON from anvil_dumpState @returns the kept states, newest first */
  async save(state: Buffer, number: number, takenAt: number): Promise<Snapshot[]> {
    const name = `state-${String(number).padStart(8, '0')}-${Math.round(takenAt)}-${hashOf(state)}.gz`
    await replaceLargeFile(join(this.#dir, name), state)
    const all = await this.list()
    const isKept = ({ name }: Snapshot, index: number) => index < kept || name === this.#proven?.name
    for (const old of all.filter((one, index) => !isKept(one, index)))
      await rm(join(this.#dir, old.name), { force: true })
    return all.filter(isKept)
  }

  /**
   * Unpacks a state for anvil.
   * @param history the part of the past to keep; undefined: all
   * @returns the file, or undefined if the state is damaged
   */
  async unpack(snapshot: Snapshot, history?: History): Promise<string | undefined> {
    const file = join(this.#dir, unpacked)
    if (this.#prepared === snapshot.name) {
      const isThere = await rename(join(this.#dir, prepared), file).then(
        () => true,
        () => false,
      )
      if (isThere) return file
    }
    return (await this.#unpackTo(file, snapshot, history)) ? file : undefined
  }

  /**
   * Unpacks the newest state in advance, so that a start from it needs no more disk space.
   * @throws if there is too little space or the state is unreadable; leaves nothing behind then
   */
  async prepare(history: History): Promise<void> {
    const file = join(this.#dir, prepared)
    const [newest] = await this.list()
    try {
      if (newest === undefined || !(await this.#unpackTo(file, newest, history)))
        throw new Error('the state that was just saved cannot be read')
      this.#prepared = newest.name
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
  }

  /** Removes files of {@link unpack} and {@link prepare}, and unfinished writes. */
  async clean(): Promise<void> {
    for (const name of await readdir(this.#dir))
      if (name === unpacked || name === prepared || name.endsWith('.new'))
        await rm(join(this.#dir, name), { force: true })
  }

  /** Takes a damaged state out of the rotation, but keeps the file for an investigation. */
  async setAside(snapshot: Snapshot): Promise<void> {
    await rename(join(this.#dir, snapshot.name), join(this.#dir, `damaged-${snapshot.number}.gz`))
  }

  /** @returns false if its bytes have changed */
  async #unpackTo(file: string, snapshot: Snapshot, history: History | undefined): Promise<boolean> {
    const state = await readFile(join(this.#dir, snapshot.name))
    if (hashOf(state) !== snapshot.hash) return false
    const json = await unzip(state)
    await rm(file, { force: true })
    const content = history === undefined ? json : await withoutOld(json, history)
    await writeFile(file, content, { flag: newFileFlags, mode: 0o600 })
    return true
  }
}
