import { type ImageFlaw, type ImageSize, notAnImage, type Parser, walkGif, walkPng } from './image-formats.ts'

/** POAP and the interface require less than 4 MB: 4 MiB is too large, one byte less is accepted. */
export const maxImageBytes = 4 * 1024 * 1024

interface GoodImage {
  kind: 'image'
  type: 'image/png' | 'image/gif'
  extension: 'png' | 'gif'
  width: number
  height: number
  /** In bytes. */
  size: number
}

export interface BadImage {
  kind: ImageFlaw['kind'] | 'too-large'
  reason: string
}

export type JudgedImage = GoodImage | BadImage

type Format = Pick<GoodImage, 'type' | 'extension'>
type Found = ImageFlaw | (ImageSize & Format)

/**
 * Judges an image by its bytes as they arrive: its name and declared type are ignored. It must be a PNG or a
 * GIF from the first byte to the last. Pixels are never decompressed, and at most 4 KiB are buffered.
 */
export class ImageJudge {
  readonly #parser = walkImage()
  #neededBytes: number | undefined
  #found: Found | undefined
  #buffered: Buffer = Buffer.alloc(0)
  #hasTail = false
  #size = 0

  constructor() {
    this.#advance(this.#parser.next())
  }

  /** @returns a verdict only if the image is too large: that is reported before any other flaw */
  push(chunk: Uint8Array): BadImage | undefined {
    this.#size += chunk.length
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    if (this.#found === undefined) this.#parse(bytes)
    else this.#noteTail(bytes)
    return this.#tooLarge()
  }

  end(): JudgedImage {
    const tooLarge = this.#tooLarge()
    if (tooLarge) return tooLarge
    if (this.#size === 0) return notAnImage('is empty')
    if (this.#found === undefined)
      return this.#size < 6
        ? notAnImage('is neither a PNG nor a GIF')
        : { kind: 'damaged', reason: 'is incomplete' }
    if (this.#found.kind !== 'size') return this.#found
    if (this.#hasTail) return notAnImage('has other data after its end')
    return { ...this.#found, kind: 'image', size: this.#size }
  }

  #tooLarge(): BadImage | undefined {
    if (this.#size < maxImageBytes) return undefined
    return { kind: 'too-large', reason: 'must be under 4 MB' }
  }

  #parse(bytes: Buffer): void {
    let buffered = this.#buffered.length === 0 ? bytes : Buffer.concat([this.#buffered, bytes])
    while (this.#neededBytes !== undefined && buffered.length >= this.#neededBytes) {
      const part = buffered.subarray(0, this.#neededBytes)
      buffered = buffered.subarray(this.#neededBytes)
      this.#advance(this.#parser.next(part))
    }
    if (this.#found !== undefined) this.#noteTail(buffered)
    // A copy, because the caller may reuse its buffer.
    this.#buffered = this.#found === undefined ? Buffer.from(buffered) : Buffer.alloc(0)
  }

  #advance(step: IteratorResult<number, Found>): void {
    if (step.done === true) this.#found = step.value
    this.#neededBytes = step.done === true ? undefined : step.value
  }

  /** Some encoders pad with zeros; anything else is a second file. */
  #noteTail(bytes: Buffer): void {
    this.#hasTail ||= bytes.some((byte) => byte !== 0)
  }
}

function* walkImage(): Parser<Found> {
  const head = yield 6
  const start = head.toString('latin1')
  if (start === 'GIF87a' || start === 'GIF89a')
    return withFormat(yield* walkGif(), { type: 'image/gif', extension: 'gif' })
  if (start === '\x89PNG\r\n' && (yield 2).toString('latin1') === '\x1a\n')
    return withFormat(yield* walkPng(), { type: 'image/png', extension: 'png' })
  const other = others.find(([pattern]) => pattern.test(start))
  return notAnImage(other ? `is ${other[1]}; badge images must be PNG or GIF` : 'is neither a PNG nor a GIF')
}

const withFormat = (parsed: ImageSize | ImageFlaw, format: Format): Found =>
  parsed.kind === 'size' ? { ...parsed, ...format } : parsed

/** Named, so that people know what to convert. */
const others: readonly (readonly [RegExp, string])[] = [
  [/^\xff\xd8\xff/, 'a JPEG'],
  [/^RIFF/, 'a WebP'],
  [/^(\xef\xbb\xbf)?\s*</, 'an SVG or another kind of text'],
  [/^.{4}ft/s, 'an AVIF or a HEIC'],
  [/^BM/, 'a BMP'],
  [/^%PDF/, 'a PDF'],
]
