import { type BadImage, type GoodImage, ImageJudge } from '../../badges/image.ts'
import type { BadgeImage } from '../../badges/provider.ts'
import { imagePart, insertImage } from '../../store/badge-images.ts'
import type { Db, Queries } from '../../store/database.ts'
import { DomainError, type ErrorCode, notFound } from '../errors.ts'

/** Read one at a time when an image is served. */
const partBytes = 256 * 1024

export interface ReceivedImage extends BadgeImage {
  readonly parts: readonly Buffer[]
}

/** An image on its way in: judged as it comes, and kept, up to the size that is taken. */
export class IncomingImage {
  readonly #judge = new ImageJudge()
  readonly #parts: Buffer[] = []
  #last = Buffer.alloc(0)
  #free = 0

  /** @returns why there is no use in more of it */
  take(chunk: Buffer): DomainError | undefined {
    const flaw = this.#judge.push(chunk)
    if (flaw) return refusal(flaw)
    // Copied: a piece of what the network brought would hold all of it.
    for (let rest = chunk; rest.length > 0; ) {
      if (this.#free === 0) {
        this.#last = Buffer.allocUnsafeSlow(partBytes)
        this.#parts.push(this.#last)
        this.#free = partBytes
      }
      const count = rest.copy(this.#last, partBytes - this.#free)
      this.#free -= count
      rest = rest.subarray(count)
    }
    return undefined
  }

  /** @throws DomainError unsupported_media_type, too_large, invalid_input */
  end(): ReceivedImage {
    if (this.#parts.length === 0)
      throw new DomainError('invalid_input', 'image: Required', { errors: { image: 'Required' } })
    const judged = this.#judge.end()
    if (judged.kind !== 'image') throw refusal(judged)
    const full = this.#parts.length - 1
    const parts = this.#parts.map((part, index) =>
      index < full ? part : part.subarray(0, partBytes - this.#free),
    )
    return { ...typeOf(judged), size: judged.size, parts, bytes: () => each(parts) }
  }
}

const typeOf = ({ type, extension }: GoodImage) => ({ type, extension })

async function* each(parts: readonly Buffer[]): AsyncIterable<Uint8Array> {
  yield* parts
}

const codeOf: Record<BadImage['kind'], ErrorCode> = {
  'not-an-image': 'unsupported_media_type',
  damaged: 'unsupported_media_type',
  'too-large': 'too_large',
  'too-many-pixels': 'invalid_input',
}

const refusal = ({ kind, reason }: BadImage): DomainError =>
  new DomainError(codeOf[kind], `image: it ${reason}. A PNG or GIF under 4 MB is taken.`, {
    errors: { image: reason },
  })

/** Keeps the image of an event of the embedded provider, in the write that keeps the event. */
export const keepImage = (
  trx: Queries,
  badgeEventId: number,
  { type, parts }: ReceivedImage,
): Promise<void> => insertImage(trx, { badgeEventId, type, parts })

/** An event's image, part by part. @throws DomainError not_found, before anything is read */
export async function imageOf({ db }: { db: Pick<Db, 'read'> }, badgeEventId: number) {
  const first = await imagePart(db.read, badgeEventId, 0)
  if (!first) throw notFound('image')
  async function* bytes(): AsyncGenerator<Buffer> {
    for (let part = first, number = 1; part; number += 1) {
      yield part.bytes
      part = await imagePart(db.read, badgeEventId, number)
    }
  }
  return { type: first.type, bytes: bytes() }
}
