import { crc32, deflateSync } from 'node:zlib'

/** A chunk of a PNG, with its length and its sum. */
export function pngChunk(type: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

export const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

export function pngHeader(width: number, height: number, depth = 8, colour = 0): Buffer {
  const data = Buffer.alloc(13)
  data.writeUInt32BE(width, 0)
  data.writeUInt32BE(height, 4)
  data.writeUInt8(depth, 8)
  data.writeUInt8(colour, 9)
  return pngChunk('IHDR', data)
}

/** A grey PNG that every viewer shows. @param bytes about how large the file is to be: pixels that do not compress */
export function png(width = 8, height = 8, more: { before?: Buffer[]; bytes?: number } = {}): Buffer {
  // Each row begins with the number of its filter.
  const pixels = deflateSync(Buffer.alloc((width + 1) * height))
  const ballast = more.bytes === undefined ? [] : [pngChunk('tEXt', Buffer.alloc(more.bytes, 'x'))]
  const chunks = [...(more.before ?? []), ...ballast, pngChunk('IDAT', pixels), pngChunk('IEND')]
  return Buffer.concat([pngSignature, pngHeader(width, height), ...chunks])
}

export interface GifFrame {
  left?: number
  top?: number
  width: number
  height: number
}

export function gif(width = 8, height = 8, frames: GifFrame[] = [{ width, height }]): Buffer {
  // Six bytes of header, then the screen, with a table of 128 colours.
  const screen = Buffer.concat([Buffer.from('GIF89a'), words(width, height), Buffer.from([0xf6, 0, 0])])
  const loop = Buffer.from('\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00', 'latin1')
  return Buffer.concat([screen, Buffer.alloc(3 * 128), loop, ...frames.map(gifFrame), Buffer.from([0x3b])])
}

function gifFrame({ left = 0, top = 0, width, height }: GifFrame): Buffer {
  // Codes of eight bits: with a clear code (0x80) in time they never grow to nine.
  const codes: number[] = []
  for (let left = Math.min(width * height, 10_000); left > 0; left -= 100) {
    codes.push(0x80, ...Array<number>(Math.min(left, 100)).fill(0))
  }
  codes.push(0x81)
  const blocks: number[] = []
  for (let at = 0; at < codes.length; at += 255) {
    const block = codes.slice(at, at + 255)
    blocks.push(block.length, ...block)
  }
  const descriptor = [Buffer.from([0x2c]), words(left, top, width, height), Buffer.from([0, 7])]
  return Buffer.concat([...descriptor, Buffer.from([...blocks, 0])])
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16LE(value, index * 2)
  return bytes
}

/** Bytes as an upload brings them. */
export async function* inPieces(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
