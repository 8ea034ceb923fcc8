import { crc32 } from 'node:zlib'

export interface ImageFlaw {
  /** `damaged`: an incomplete or inconsistent PNG or GIF. `too-many-pixels`: too expensive to draw. */
  kind: 'not-an-image' | 'damaged' | 'too-many-pixels'
  /** Completes "The image …". */
  reason: string
}

export interface ImageSize {
  kind: 'size'
  width: number
  height: number
}

/** Yields the number of bytes to read next, at most `walkStep`, and receives them. */
export type Parser<Found> = Generator<number, Found, Buffer>

const walkStep = 4_096

export const notAnImage = (reason: string): ImageFlaw => ({ kind: 'not-an-image', reason })
export const damaged = (reason: string): ImageFlaw => ({ kind: 'damaged', reason })

const maxSide = 10_000
const maxPixels = 40_000_000
/** Over all frames of an animation. */
const maxFramePixels = 1_000_000_000

class PixelCount {
  #frames = 0
  constructor(
    readonly width: number,
    readonly height: number,
  ) {}

  canvas(): ImageFlaw | undefined {
    const { width, height } = this
    if (width <= maxSide && height <= maxSide && width * height <= maxPixels) return undefined
    const reason = `is ${width} × ${height} pixels; at most ${maxSide} per side and ${maxPixels / 1e6} million in total`
    return { kind: 'too-many-pixels', reason }
  }

  frame(left: number, top: number, width: number, height: number): ImageFlaw | undefined {
    if (width === 0 || height === 0 || left + width > this.width || top + height > this.height)
      return damaged('has a frame outside of its canvas')
    this.#frames += width * height
    if (this.#frames <= maxFramePixels) return undefined
    const reason = `has frames of more than ${maxFramePixels / 1e6} million pixels in total`
    return { kind: 'too-many-pixels', reason }
  }
}

const afterHeader = notAnImage('starts like a GIF but is something else')

export function* walkGif(): Parser<ImageSize | ImageFlaw> {
  const screen = yield 7
  const width = screen.readUInt16LE(0)
  const height = screen.readUInt16LE(2)
  if (width === 0 || height === 0) return afterHeader
  yield* colorTable(screen.readUInt8(4))
  const pixels = new PixelCount(width, height)
  let frames = 0
  for (;;) {
    const block = (yield 1).readUInt8()
    if (block === 0x2c) {
      const flaw = (yield* walkFrame(pixels)) ?? (frames === 0 ? pixels.canvas() : undefined)
      // Until a complete frame is found, the file is treated as not a GIF.
      if (flaw) return frames === 0 && flaw.kind === 'damaged' ? afterHeader : flaw
      frames += 1
    } else if (block === 0x21) {
      yield 1
      yield* subBlocks()
    } else if (block === 0x3b) {
      return frames === 0 ? afterHeader : { kind: 'size', width, height }
    } else {
      return frames === 0 ? afterHeader : damaged('has unknown data between its blocks')
    }
  }
}

function* walkFrame(pixels: PixelCount): Parser<ImageFlaw | undefined> {
  const frame = yield 9
  const [left, top, width, height] = [0, 2, 4, 6].map((at) => frame.readUInt16LE(at)) as [
    number,
    number,
    number,
    number,
  ]
  const flaw = pixels.frame(left, top, width, height)
  if (flaw) return flaw
  yield* colorTable(frame.readUInt8(8))
  const codeSize = (yield 1).readUInt8()
  if (codeSize < 2 || codeSize > 8) return damaged('has an invalid frame')
  return (yield* subBlocks()) === 0 ? damaged('has a frame without pixels') : undefined
}

/** The top bit indicates a color table, and the lowest three bits give its size. */
function* colorTable(packed: number): Parser<void> {
  if ((packed & 0x80) !== 0) yield 3 * 2 ** ((packed & 7) + 1)
}

function* subBlocks(): Parser<number> {
  for (let total = 0; ; ) {
    const size = (yield 1).readUInt8()
    if (size === 0) return total
    yield size
    total += size
  }
}

/** PNG (W3C, third edition) 11.2.1: the bit depths of each color type. */
const depths: Record<number, readonly number[]> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}

const afterSignature = 'starts like a PNG but is something else'

/** Starts after the signature. Pixels stay compressed, so a zip bomb is harmless. */
export function* walkPng(): Parser<ImageSize | ImageFlaw> {
  const header = yield 25
  if (header.readUInt32BE(0) !== 13 || header.toString('latin1', 4, 8) !== 'IHDR')
    return notAnImage(afterSignature)
  if (crc32(header.subarray(4, 21)) !== header.readUInt32BE(21))
    return damaged('has a PNG header with a wrong checksum')
  const width = header.readUInt32BE(8)
  const height = header.readUInt32BE(12)
  const color = header.readUInt8(17)
  const isSound =
    width > 0 &&
    height > 0 &&
    depths[color]?.includes(header.readUInt8(16)) === true &&
    header.readUInt8(18) === 0 &&
    header.readUInt8(19) === 0 &&
    header.readUInt8(20) <= 1
  if (!isSound) return damaged('has an invalid PNG header')
  const pixels = new PixelCount(width, height)
  const flaw = pixels.canvas() ?? (yield* walkChunks(pixels, color === 3))
  return flaw ?? { kind: 'size', width, height }
}

function* walkChunks(pixels: PixelCount, needsPalette: boolean): Parser<ImageFlaw | undefined> {
  const seen = new Set<string>()
  const stream = new PixelStream()
  let last = 'IHDR'
  for (;;) {
    const head = yield 8
    const type = head.toString('latin1', 4, 8)
    if (!/^[A-Za-z]{4}$/.test(type)) return damaged('has unknown data between its chunks')
    const length = head.readUInt32BE(0)
    const misplaced = problemOf({ type, length, last, seen, needsPalette })
    if (misplaced) return damaged(misplaced)

    let sum = crc32(head.subarray(4, 8))
    for (let remaining = length; remaining > 0; ) {
      const part = yield Math.min(remaining, walkStep)
      sum = crc32(part, sum)
      remaining -= part.length
      const flaw = type === 'fcTL' ? frameFlaw(part, pixels) : undefined
      if (flaw) return flaw
      if (type === 'IDAT') stream.take(part)
    }
    // Old tools write wrong checksums in ancillary chunks (lowercase first letter).
    if ((yield 4).readUInt32BE(0) !== sum && isCritical(type))
      return damaged(`has a ${type} chunk with a wrong checksum`)
    if (type === 'IEND') return stream.flaw()
    seen.add(type)
    last = type
  }
}

/** The IDAT chunks form one zlib stream (RFC 1950): two header bytes, deflate data, and a four-byte checksum. */
class PixelStream {
  #size = 0
  #first = 0
  #second = 0

  take(part: Buffer): void {
    if (this.#size === 0) this.#first = part[0] ?? 0
    if (this.#size < 2) this.#second = part[1 - this.#size] ?? 0
    this.#size += part.length
  }

  flaw(): ImageFlaw | undefined {
    // Header and checksum take six bytes, and an empty deflate stream takes two.
    if (this.#size <= 8) return damaged('has no pixels')
    const isDeflate = (this.#first & 0x0f) === 8 && this.#first >> 4 <= 7
    const isSound = isDeflate && (this.#second & 0x20) === 0 && (this.#first * 256 + this.#second) % 31 === 0
    return isSound ? undefined : damaged('has pixel data that is not compressed as in a PNG')
  }
}

const isCritical = (type: string) => /^[A-Z]/.test(type)

interface Chunk {
  type: string
  length: number
  last: string
  seen: ReadonlySet<string>
  needsPalette: boolean
}

function problemOf({ type, length, last, seen, needsPalette }: Chunk): string | undefined {
  if (length > 0x7fff_ffff) return 'has a chunk of an impossible length'
  switch (type) {
    case 'IHDR':
      return 'has two headers'
    case 'PLTE':
      if (seen.has('PLTE') || seen.has('IDAT')) return 'has its palette in the wrong place'
      return length === 0 || length > 768 || length % 3 !== 0 ? 'has an invalid palette' : undefined
    case 'IDAT':
      if (seen.has('IDAT') && last !== 'IDAT') return 'has its pixel data in two places'
      return needsPalette && !seen.has('PLTE') ? 'has no palette' : undefined
    case 'IEND':
      if (length !== 0) return 'has data in its end chunk'
      return seen.has('IDAT') ? undefined : 'has no pixels'
    case 'fcTL':
      return length === 26 ? undefined : 'has an invalid frame'
    default:
      return isCritical(type) ? `has a ${type} chunk, which is not part of the PNG format` : undefined
  }
}

/** APNG, fcTL: sequence, width, height, left, top. */
const frameFlaw = (fcTL: Buffer, pixels: PixelCount): ImageFlaw | undefined =>
  pixels.frame(fcTL.readUInt32BE(12), fcTL.readUInt32BE(16), fcTL.readUInt32BE(4), fcTL.readUInt32BE(8))
