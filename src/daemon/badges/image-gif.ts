import { damaged, type ImageFlaw, type ImageSize, notAnImage, PixelCount, type Walk } from './image-walk.ts'

const afterHeader = notAnImage('has the first bytes of a GIF over something else')

/** Walks the blocks of a GIF (GIF89a, 17 ff.) from behind its six bytes of header to its trailer. */
export function* walkGif(): Walk<ImageSize | ImageFlaw> {
  const screen = yield 7
  const width = screen.readUInt16LE(0)
  const height = screen.readUInt16LE(2)
  if (width === 0 || height === 0) return afterHeader
  yield* colourTable(screen.readUInt8(4))
  const pixels = new PixelCount(width, height)
  let frames = 0
  for (;;) {
    const block = (yield 1).readUInt8()
    if (block === 0x2c) {
      const flaw = (yield* walkFrame(pixels)) ?? (frames === 0 ? pixels.canvas() : undefined)
      // Until something could be drawn, it is no damaged GIF: it never was one.
      if (flaw) return frames === 0 && flaw.kind === 'damaged' ? afterHeader : flaw
      frames += 1
    } else if (block === 0x21) {
      yield 1
      yield* subBlocks()
    } else if (block === 0x3b) {
      return frames === 0 ? afterHeader : { kind: 'size', width, height }
    } else {
      return frames === 0 ? afterHeader : damaged('has something between its blocks')
    }
  }
}

function* walkFrame(pixels: PixelCount): Walk<ImageFlaw | undefined> {
  const frame = yield 9
  const [left, top, width, height] = [0, 2, 4, 6].map((at) => frame.readUInt16LE(at)) as [
    number,
    number,
    number,
    number,
  ]
  const flaw = pixels.frame(left, top, width, height)
  if (flaw) return flaw
  yield* colourTable(frame.readUInt8(8))
  const codeSize = (yield 1).readUInt8()
  if (codeSize < 2 || codeSize > 8) return damaged('has a frame that makes no sense')
  return (yield* subBlocks()) === 0 ? damaged('has a frame without pixels') : undefined
}

/** The top bit says whether there is one, the lowest three how large it is. */
function* colourTable(packed: number): Walk<void> {
  if ((packed & 0x80) !== 0) yield 3 * 2 ** ((packed & 7) + 1)
}

/** @returns how many bytes they hold */
function* subBlocks(): Walk<number> {
  for (let total = 0; ; ) {
    const size = (yield 1).readUInt8()
    if (size === 0) return total
    yield size
    total += size
  }
}
