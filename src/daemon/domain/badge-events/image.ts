import {
  closeSync,
  createReadStream,
  fsync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { nanoid } from 'nanoid'
import { type BadImage, ImageJudge } from '../../../values/image.ts'
import type { BadgeImage } from '../../badges/provider.ts'
import { findImage } from '../../store/badge-events/badge-events.ts'
import type { Db } from '../../store/database/database.ts'
import { DomainError, type ErrorCode, notFound, storeFailure } from '../errors/errors.ts'

/** An image that was received completely and is valid. */
export interface ReceivedImage extends BadgeImage {
  /** File name in the folder. */
  readonly file: string
}

/** One file per image while it is uploaded. */
export class ImageFolder {
  readonly #path: string
  readonly #writeFailed: (error: unknown) => void

  /** @param writeFailed receives write errors */
  constructor(dataDir: string, writeFailed: (error: unknown) => void = () => undefined) {
    this.#path = join(dataDir, 'badge-images')
    this.#writeFailed = writeFailed
  }

  receive(): IncomingImage {
    mkdirSync(this.#path, { recursive: true, mode: 0o700 })
    const file = nanoid()
    return new IncomingImage(file, join(this.#path, file), this.#writeFailed)
  }

  /** @throws DomainError not_found */
  async open({ db }: { db: Pick<Db, 'read'> }, badgeEventId: number) {
    const image = await findImage(db.read, badgeEventId)
    if (!image) throw notFound('image')
    return { type: image.type, size: image.data.length, bytes: image.data }
  }

  /** Removes unfinished uploads of a killed daemon. */
  sweep(): void {
    for (const file of filesIn(this.#path)) rmSync(join(this.#path, file), { force: true })
  }
}

function filesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    // No image has been uploaded yet.
    return []
  }
}

/** An upload that is checked and written to its file as it arrives, so that little of it is in memory. */
export class IncomingImage {
  readonly #judge = new ImageJudge()
  readonly #file: string
  readonly #path: string
  readonly #writeFailed: (error: unknown) => void
  #descriptor: number | undefined
  #isEmpty = true

  constructor(file: string, path: string, writeFailed: (error: unknown) => void) {
    this.#file = file
    this.#path = path
    this.#writeFailed = writeFailed
  }

  /** @returns an error if the rest need not be read */
  take(chunk: Buffer): DomainError | undefined {
    const flaw = this.#judge.push(chunk)
    if (flaw) return imageRefusal(flaw)
    this.#isEmpty &&= chunk.length === 0
    try {
      this.#descriptor ??= openSync(this.#path, 'wx', 0o600)
      for (let at = 0; at < chunk.length; ) at += writeSync(this.#descriptor, chunk, at)
      return undefined
    } catch (cause) {
      this.#writeFailed(cause)
      const full = storeFailure(cause)
      if (full) return full
      const message = 'The image cannot be written right now. Nothing was created; try again.'
      return new DomainError('store_unavailable', message, { retryAfterSeconds: 5, cause })
    }
  }

  /** @throws DomainError unsupported_media_type, too_large, invalid_input */
  async end(): Promise<ReceivedImage> {
    if (this.#isEmpty)
      throw new DomainError('invalid_input', 'image: Required', { errors: { image: 'Required' } })
    const judged = this.#judge.end()
    if (judged.kind !== 'image') throw imageRefusal(judged)
    if (this.#descriptor !== undefined) await promisify(fsync)(this.#descriptor)
    const { type, extension, size } = judged
    return { type, extension, size, file: this.#file, bytes: () => createReadStream(this.#path) }
  }

  /** Removes the file. Must always be called. */
  close(): void {
    if (this.#descriptor === undefined) return
    closeSync(this.#descriptor)
    this.#descriptor = undefined
    rmSync(this.#path, { force: true })
  }
}

const codeOf: Record<BadImage['kind'], ErrorCode> = {
  'not-an-image': 'unsupported_media_type',
  damaged: 'unsupported_media_type',
  'too-large': 'too_large',
  'too-many-pixels': 'invalid_input',
}

export const imageRefusal = ({ kind, reason }: BadImage): DomainError =>
  new DomainError(
    codeOf[kind],
    `image: it ${reason}${reason.endsWith('PNG or GIF') ? ', under 4 MB.' : '. Send a PNG or GIF under 4 MB.'}`,
    { errors: { image: reason } },
  )
