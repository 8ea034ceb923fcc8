import { randomInt } from 'node:crypto'
import { constants, crc32, deflateRawSync } from 'node:zlib'
import type { Look, Page } from '../pages/tap/settings.ts'

/** RFC 1952, with a file name: without a time, of an unknown system. */
const header = Buffer.from('1f8b08080000000000ff', 'hex')
/** Random, so that sizes of answers do not tell how well their content was compressed. */
const maxPadding = 64

/** Compressed: most of a page, and the same on all pages of a team. */
const looks = new WeakMap<Look, Buffer>()

/** A page in gzip, for half the time that zlib takes for all of it: only what follows the look is compressed anew. */
export function gzipPage({ parts: [start, look, rest] }: Page): Buffer {
  const [before, after] = [Buffer.from(start), Buffer.from(rest)]
  const name = Buffer.alloc(randomInt(maxPadding) + 1, 'a')
  name[name.length - 1] = 0
  const compressed = deflateRawSync(after, { level: 4, windowBits: 13, memLevel: 6 })
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc32(after, crc32(look.bytes, crc32(before))), 0)
  trailer.writeUInt32LE(before.length + look.bytes.length + after.length, 4)
  return Buffer.concat([header, name, ...stored(before), compressedLook(look), compressed, trailer])
}

function compressedLook(look: Look): Buffer {
  const known = looks.get(look)
  if (known) return known
  // A full flush ends at a byte, and leaves the stream open.
  const made = deflateRawSync(look.bytes, { level: 9, finishFlush: constants.Z_FULL_FLUSH })
  looks.set(look, made)
  return made
}

/** A page in UTF-8. As a string it would be copied whole several times on its way, in two bytes a character. */
export function plainPage({ parts: [start, { bytes }, rest] }: Page): Buffer {
  const before = Buffer.from(start)
  const page = Buffer.allocUnsafe(before.length + bytes.length + Buffer.byteLength(rest))
  before.copy(page)
  bytes.copy(page, before.length)
  page.write(rest, before.length + bytes.length)
  return page
}

/** RFC 1951, section 3.2.4. @param part less than 64 KiB */
function stored(part: Buffer): [Buffer, Buffer] {
  const lengths = Buffer.alloc(5)
  lengths.writeUInt16LE(part.length, 1)
  lengths.writeUInt16LE(0xffff - part.length, 3)
  return [lengths, part]
}
