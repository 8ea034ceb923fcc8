/** What is wrong with an image. */
export interface ImageFlaw {
  /**
   * `not-an-image`: something else, whatever its name or first bytes say · `damaged`: a PNG or GIF that breaks off or
   * contradicts itself · `too-many-pixels`: small as a file, and a burden to whoever draws it.
   */
  kind: 'not-an-image' | 'damaged' | 'too-many-pixels'
  /** Completes "The image …". */
  reason: string
}

export interface ImageSize {
  kind: 'size'
  width: number
  height: number
}

/** Goes through a file in order: yields how many bytes it wants next, at most `walkStep`, and is given them. */
export type Walk<Found> = Generator<number, Found, Buffer>

export const walkStep = 4_096

export const notAnImage = (reason: string): ImageFlaw => ({ kind: 'not-an-image', reason })
export const damaged = (reason: string): ImageFlaw => ({ kind: 'damaged', reason })

export const maxSide = 10_000
export const maxPixels = 40_000_000
/** Of all frames of an animation together. */
export const maxFramePixels = 1_000_000_000

/** Counts the pixels that drawing an image takes, the canvas and each frame. */
export class PixelCount {
  #frames = 0
  readonly width: number
  readonly height: number

  constructor(width: number, height: number) {
    this.width = width
    this.height = height
  }

  canvas(): ImageFlaw | undefined {
    const { width, height } = this
    if (width <= maxSide && height <= maxSide && width * height <= maxPixels) return undefined
    const reason = `is ${width} × ${height} pixels; at most ${maxSide} a side and ${maxPixels / 1e6} million in all are taken`
    return { kind: 'too-many-pixels', reason }
  }

  frame(left: number, top: number, width: number, height: number): ImageFlaw | undefined {
    if (width === 0 || height === 0 || left + width > this.width || top + height > this.height)
      return damaged('has a frame that does not lie on it')
    this.#frames += width * height
    if (this.#frames <= maxFramePixels) return undefined
    const reason = `has frames of more than ${maxFramePixels / 1e6} million pixels together`
    return { kind: 'too-many-pixels', reason }
  }
}
