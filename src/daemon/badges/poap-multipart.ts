import { randomBytes } from 'node:crypto'
import type { BadgeImage } from './provider.ts'

export interface Multipart {
  headers: { 'content-type': string; 'content-length': string }
  /** Read once. @throws Error where the image is not as long as it was said to be */
  body: AsyncIterable<Uint8Array>
}

/** A form with an image as its last part (RFC 7578). The image passes through; the length is known before. */
export function multipart(fields: Readonly<Record<string, string>>, image: BadgeImage): Multipart {
  // What a value holds cannot end its part: the boundary is not known to whoever wrote the value.
  const boundary = `tapchip-${randomBytes(24).toString('hex')}`
  const part = (disposition: string) => `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`
  const texts = Object.entries(fields).map(([name, value]) => `${part(`name="${name}"`)}\r\n${value}\r\n`)
  // The name comes from what the image is, not from whoever sent it.
  const file = `${part(`name="image"; filename="badge.${image.extension}"`)}content-type: ${image.type}\r\n\r\n`
  const head = Buffer.from(texts.join('') + file)
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + image.size + tail.length),
    },
    body: parts(head, image, tail),
  }
}

async function* parts(head: Buffer, image: BadgeImage, tail: Buffer): AsyncIterable<Uint8Array> {
  yield head
  let size = 0
  for await (const chunk of image.bytes()) {
    size += chunk.length
    if (size > image.size) break
    yield chunk
  }
  if (size !== image.size) throw new Error(`The image was said to have ${image.size} bytes, and has others`)
  yield tail
}
