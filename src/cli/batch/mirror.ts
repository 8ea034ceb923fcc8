import { randomBytes } from 'node:crypto'
import { promises } from 'node:fs'
import { finished } from 'node:stream/promises'
import { createDeflateRaw } from 'node:zlib'
import { ApiError, DaemonUnreachable } from '../client/errors.ts'
import type { Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { type Header, hostName, placeOf } from './journal.ts'
import type { Follower, Journal } from './journal-file.ts'

/** Bytes of a journal per request, and deflated: the daemon takes a little more of both. */
const most = { bytes: 15_000_000, deflated: 500_000 }
const blockSize = 64 * 1024
const everyMs = 1000
/** The daemon lets another machine take over after 20 s. */
const renewAfterMs = 3000

/** Which endpoints a batch uses: those for its team's API key, or an operator's. */
export const holdKey = (isAdmin: boolean) =>
  isAdmin ? 'POST /admin/batch-journals/:id/hold' : 'POST /batch-journals/:id/hold'
const appendKey = (isAdmin: boolean) =>
  isAdmin ? 'POST /admin/batch-journals/:id/journal' : 'POST /batch-journals/:id/journal'

export interface Hold {
  readonly header: Pick<Header, 'id' | 'kind' | 'total' | 'startedAt'>
  readonly isAdmin: boolean
  readonly takeOver: boolean
  /** The lease of a process of this machine that is no longer there. */
  readonly gone?: number | undefined
  readonly path: string
  /** Of the journal, if it is ahead of the daemon's copy; undefined if it is itself a copy. */
  readonly length?: number | undefined
  /** Somebody else may be running it. */
  readonly isResumed?: boolean
}

/** What the process that runs a batch knows of the daemon's copy. */
export interface Held {
  /** Proves to the daemon that it is this process. */
  readonly holder: string
  readonly lease: number
  /** Bytes of the journal that the daemon has. */
  readonly length: number
}

const isBusy = (error: unknown): boolean =>
  error instanceof DaemonUnreachable ||
  (error instanceof ApiError && [429, 502, 503, 504].includes(error.statusCode))

/**
 * Makes this process the one that runs the batch. Without a copy, it is run from its journal here alone: a warning says
 * so, and the result is undefined.
 * @throws ApiError batch_running, scope_missing
 */
export const holdBatch = async (
  ctx: CliContext,
  { header, isAdmin, takeOver, gone, path, length, isResumed = false }: Hold,
): Promise<Held | undefined> => {
  const { id, kind, total, startedAt } = header
  const holder = randomBytes(16).toString('hex')
  const context = ctx.config().contextName ?? null
  try {
    const client = await ctx.client()
    const place = placeOf(path)
    const about = { kind, total, startedAt, host: hostName(), place, context }
    const body = { ...about, holder, takeOver, gone, length }
    return { holder, ...(await client.call(holdKey(isAdmin), { params: { id }, body })) }
  } catch (error) {
    const isRefused = error instanceof ApiError && isResumed && error.code === 'scope_missing'
    if (isRefused || (error instanceof ApiError && error.code === 'batch_running')) throw error
    const isOlder = error instanceof ApiError && error.statusCode === 404
    const why = isOlder ? 'The daemon keeps no copy of the journal: It is an older version.' : notKept(error)
    ctx.io.warn(`${why} This batch can be resumed only on this machine.`)
    return undefined
  }
}

/** Gives up a batch that was taken over, as if it had never been. */
export const releaseBatch = async (ctx: CliContext, hold: Hold, { holder }: Held): Promise<void> => {
  const body = { holder, state: 'stopped', done: 0, failed: 0 } as const
  await (await ctx.client()).call(appendKey(hold.isAdmin), { params: { id: hold.header.id }, body })
}

const notKept = (error: unknown): string =>
  `The daemon keeps no copy of the journal: ${error instanceof Error ? error.message : String(error)}`

/**
 * Copies a journal to the daemon while it is written, and tells that this process is alive. It reads the file, so that
 * it needs no memory where the daemon is slower than the disk.
 */
export class Mirror implements Follower {
  readonly #ctx: CliContext
  readonly #client: Client
  readonly #hold: Hold
  readonly #journal: Journal
  readonly #holder: string
  readonly #timer: NodeJS.Timeout
  #file: promises.FileHandle | undefined
  #length: number
  #heardAt = performance.now()
  #uploading: Promise<void> | undefined
  /** `progress`: the daemon takes no more of the journal. `nothing`: it takes nothing more. */
  #keeps: 'all' | 'progress' | 'nothing' = 'all'
  onTaken: (error: unknown) => void = () => undefined

  constructor(ctx: CliContext, client: Client, hold: Hold, { holder, length }: Held, journal: Journal) {
    this.#ctx = ctx
    this.#client = client
    this.#hold = hold
    this.#holder = holder
    this.#length = length
    this.#journal = journal
    this.#timer = setInterval(() => {
      const isDue = performance.now() - this.#heardAt > renewAfterMs
      if (isDue || this.#journal.size > this.#length) void this.upload().catch(() => undefined)
    }, everyMs)
    this.#timer.unref()
  }

  /** Resolves once the daemon has what was in the journal before the call. */
  async upload(): Promise<void> {
    while (this.#uploading) await this.#uploading.catch(() => undefined)
    this.#uploading = this.#send().finally(() => {
      this.#uploading = undefined
    })
    await this.#uploading
  }

  /** The end of the journal. An end that does not arrive is no failure: the daemon notices the silence. */
  async end(): Promise<void> {
    clearInterval(this.#timer)
    await this.upload().catch(() => undefined)
    await this.#file?.close()
  }

  async #send(): Promise<void> {
    const end = this.#journal.size
    try {
      do {
        const chunk = this.#keeps === 'all' && this.#length < end ? await this.#nextChunk(end) : undefined
        if (this.#keeps === 'nothing') return
        await this.#tell(chunk, this.#length + (chunk?.bytes ?? 0) >= end)
      } while (this.#keeps === 'all' && this.#length < end)
    } catch (error) {
      this.#failed(error)
      throw error
    }
  }

  async #nextChunk(end: number): Promise<{ offset: number; bytes: number; data: string }> {
    this.#file ??= await promises.open(this.#journal.path)
    const offset = this.#length
    const until = Math.min(end, offset + most.bytes)
    // The fastest level: the processor is for the rows.
    const deflate = createDeflateRaw({ level: 1 })
    const pieces: Buffer[] = []
    let deflated = 0
    deflate.on('data', (piece: Buffer) => {
      pieces.push(piece)
      deflated += piece.length
    })
    const block = Buffer.allocUnsafe(blockSize)
    let at = offset
    while (at < until && deflated < most.deflated) {
      const { bytesRead } = await this.#file.read(block, 0, Math.min(blockSize, until - at), at)
      if (bytesRead === 0) break
      at += bytesRead
      await new Promise((resolve) => deflate.write(block.subarray(0, bytesRead), resolve))
    }
    deflate.end()
    await finished(deflate)
    return { offset, bytes: at - offset, data: Buffer.concat(pieces).toString('base64') }
  }

  async #tell(chunk: { offset: number; bytes: number; data: string } | undefined, isLast: boolean) {
    const { done, failed, state } = this.#journal.progress
    const body = { holder: this.#holder, state: isLast ? state : ('running' as const), done, failed, chunk }
    const params = { id: this.#hold.header.id }
    try {
      await this.#client.call(appendKey(this.#hold.isAdmin), { params, body })
      this.#length += chunk?.bytes ?? 0
    } catch (error) {
      const isRefused = error instanceof ApiError && [409, 413].includes(error.statusCode)
      if (!isRefused || error.code === 'batch_taken' || chunk === undefined) throw error
      this.#keeps = 'progress'
      this.#ctx.io.warn(
        `${notKept(error)} Elsewhere, the batch could be resumed only with less than is done.`,
      )
    }
    this.#heardAt = performance.now()
  }

  #failed(error: unknown): void {
    if (error instanceof ApiError && error.code === 'batch_taken') {
      this.#keeps = 'nothing'
      this.onTaken(error)
    } else if (!isBusy(error) && this.#keeps !== 'nothing') {
      this.#keeps = 'nothing'
      this.#ctx.io.warn(`${notKept(error)} This batch can be resumed only on this machine.`)
    }
  }
}
