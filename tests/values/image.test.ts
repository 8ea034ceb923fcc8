import { deflateRawSync, deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ImageJudge, type JudgedImage, maxImageBytes } from '../../src/values/image.ts'
import { gif, inPieces, png, pngChunk, pngHeader, pngSignature } from '../support/poap/image-bytes.ts'

async function judgeImage(bytes: AsyncIterable<Uint8Array>): Promise<JudgedImage> {
  const judge = new ImageJudge()
  for await (const chunk of bytes) {
    const tooLarge = judge.push(chunk)
    if (tooLarge) return tooLarge
  }
  return judge.end()
}
const judge = (bytes: Uint8Array, pieces = 65_536): Promise<JudgedImage> =>
  judgeImage(inPieces(bytes, pieces))
const kind = async (bytes: Uint8Array) => (await judge(bytes)).kind
const ofParts = (...parts: Uint8Array[]) => Buffer.concat([pngSignature, ...parts])
const pixels = pngChunk('IDAT', deflateSync(Buffer.alloc(72)))
const end = pngChunk('IEND')

describe('an image that is one', () => {
  test('a PNG is a PNG, whatever its name', async () => {
    const bytes = png(640, 480)
    expect(await judge(bytes)).toEqual({
      kind: 'image',
      type: 'image/png',
      extension: 'png',
      width: 640,
      height: 480,
      size: bytes.length,
    })
  })

  test('a GIF, of one frame or of many', async () => {
    expect(await judge(gif(300, 200))).toMatchObject({
      type: 'image/gif',
      extension: 'gif',
      width: 300,
      height: 200,
    })
    const many = gif(50, 50, [
      { width: 50, height: 50 },
      { left: 10, top: 10, width: 40, height: 40 },
      { left: 49, top: 49, width: 1, height: 1 },
    ])
    expect(await kind(many)).toBe('image')
  })

  test('in pieces of any size the verdict is the same', async () => {
    for (const bytes of [png(40, 30), gif(40, 30), png(40, 30).subarray(0, 60), Buffer.from('<svg/>')]) {
      const whole = await judge(bytes)
      for (const size of [1, 2, 3, 7, 64, 1000]) expect(await judge(bytes, size)).toEqual(whole)
    }
  })

  test('with colours, text, pixels in several chunks, and an animation', async () => {
    const animated = ofParts(
      pngHeader(8, 8),
      pngChunk('acTL', Buffer.alloc(8)),
      frameControl(8, 8, 0, 0),
      pixels,
      frameControl(4, 4, 4, 4),
      pngChunk('fdAT', Buffer.alloc(20)),
      end,
    )
    expect(await kind(animated)).toBe('image')
    expect(await kind(ofParts(pngHeader(8, 8, 8, 3), pngChunk('PLTE', Buffer.alloc(3)), pixels, end))).toBe(
      'image',
    )
    expect(await kind(ofParts(pngHeader(8, 8), pngChunk('tEXt'), pixels, pixels, pixels, end))).toBe('image')
  })

  test.each([
    ['an empty one', [pngChunk('IDAT')]],
    ['several empty ones', [pngChunk('IDAT'), pngChunk('IDAT')]],
    ['nothing compressed', [pngChunk('IDAT', deflateSync(''))]],
    ['text', [pngChunk('IDAT', Buffer.from('<script>alert(1)</script>'))]],
    ['deflated data without a header', [pngChunk('IDAT', deflateRawSync(Buffer.alloc(72)))]],
    ['a byte too early', [pngChunk('IDAT', Buffer.from('x')), pixels]],
  ])('pixels that are none, %s, are damaged', async (_what, chunks) => {
    expect(await kind(ofParts(pngHeader(8, 8), ...chunks, end))).toBe('damaged')
  })

  test('the pixels may begin anywhere', async () => {
    const stream = deflateSync(Buffer.alloc(72))
    const parts = [stream.subarray(0, 0), stream.subarray(0, 1), stream.subarray(1, 2), stream.subarray(2)]
    const chunks = parts.map((part) => pngChunk('IDAT', part))
    expect(await kind(ofParts(pngHeader(8, 8), ...chunks, end))).toBe('image')
  })

  test('a wrong sum in what a viewer may pass over is passed over, zeros behind the end too', async () => {
    const text = pngChunk('tEXt', Buffer.from('Comment'))
    text.writeUInt32BE(0, text.length - 4)
    expect(await kind(ofParts(pngHeader(8, 8), text, pixels, end))).toBe('image')
    expect(await kind(Buffer.concat([png(), Buffer.alloc(100)]))).toBe('image')
    expect(await kind(Buffer.concat([gif(), Buffer.alloc(100)]))).toBe('image')
  })
})

describe('size', () => {
  test('a byte less than 4 MiB is taken, 4 MiB is not', async () => {
    const empty = png(8, 8, { bytes: 0 }).length
    expect(await judge(png(8, 8, { bytes: maxImageBytes - empty - 1 }))).toMatchObject({
      kind: 'image',
      size: maxImageBytes - 1,
    })
    expect(await judge(png(8, 8, { bytes: maxImageBytes - empty }))).toEqual({
      kind: 'too-large',
      reason: 'must be under 4 MB',
    })
  })

  test('what is too large is told so, whatever else it is', async () => {
    expect(await kind(Buffer.alloc(maxImageBytes, 'x'))).toBe('too-large')
    expect(await kind(Buffer.concat([gif(), Buffer.alloc(maxImageBytes, 'x')]))).toBe('too-large')
  })

  test('is not read further than it takes to know', async () => {
    let read = 0
    const endless = async function* () {
      for (;;) {
        read += 65_536
        yield Buffer.alloc(65_536)
      }
    }
    expect((await judgeImage(endless())).kind).toBe('too-large')
    expect(read).toBe(maxImageBytes)
  })
})

describe('an image that is something else', () => {
  test.each([
    ['nothing', ''],
    ['a few bytes', 'GIF8'],
    ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
    ['an SVG behind a byte order mark', '\xef\xbb\xbf<?xml version="1.0"?><svg/>'],
    ['a WebP', 'RIFF\x24\0\0\0WEBPVP8 '],
    ['a JPEG', '\xff\xd8\xff\xe0\0\x10JFIF\0'],
    ['a web page', '<!DOCTYPE html><script>alert(1)</script>'],
    ['a GIF header over a web page', `GIF89a${'<script>alert(1)</script>'.repeat(20)}`],
    ['a GIF header over zeros', `GIF89a${'\0'.repeat(500)}`],
    ['a GIF without a frame', `GIF89a\x08\0\x08\0\0\0\0;`],
    ['a PNG signature over a web page', `\x89PNG\r\n\x1a\n${'<script>alert(1)</script>'.repeat(20)}`],
    ['a PNG signature cut short', '\x89PNG\r\nxx and more'],
  ])('%s', async (_name, bytes) => {
    expect(await kind(Buffer.from(bytes, 'latin1'))).toBe('not-an-image')
  })

  test('says what it is', async () => {
    expect(await judge(Buffer.from('<svg/>'))).toMatchObject({ reason: expect.stringContaining('an SVG') })
    expect(await judge(Buffer.from('RIFF    WEBP'))).toMatchObject({
      reason: expect.stringContaining('a WebP'),
    })
  })

  test('an image with a second file behind its end', async () => {
    for (const image of [png(), gif()]) {
      expect(await kind(Buffer.concat([image, Buffer.from('PK\x03\x04 a zip, or <script>')]))).toBe(
        'not-an-image',
      )
      expect(await kind(Buffer.concat([image, image]))).toBe('not-an-image')
    }
  })
})

describe('an image that is damaged', () => {
  test.each(['png', 'gif'] as const)('a %s that breaks off anywhere', async (which) => {
    const bytes = which === 'png' ? png(16, 16) : gif(16, 16)
    for (let length = 8; length < bytes.length; length += 1) {
      expect(await kind(bytes.subarray(0, length)), `of ${length} bytes`).toBe('damaged')
    }
  })

  test('a PNG in which a byte of what counts was changed', async () => {
    const bytes = png(16, 16)
    for (let at = 8; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 0x01
      expect(await kind(changed), `at ${at}`).not.toBe('image')
    }
  })

  test.each<[string, Buffer]>([
    ['two headers', ofParts(pngHeader(8, 8), pngHeader(8, 8), pixels, end)],
    ['no pixels', ofParts(pngHeader(8, 8), end)],
    ['pixels in two places', ofParts(pngHeader(8, 8), pixels, pngChunk('tEXt'), pixels, end)],
    ['no table of its colours', ofParts(pngHeader(8, 8, 8, 3), pixels, end)],
    [
      'a table of colours of four bytes',
      ofParts(pngHeader(8, 8, 8, 3), pngChunk('PLTE', Buffer.alloc(4)), pixels, end),
    ],
    ['something in its end', ofParts(pngHeader(8, 8), pixels, pngChunk('IEND', Buffer.from('x')))],
    ['an unknown chunk that counts', ofParts(pngHeader(8, 8), pngChunk('ABCD'), pixels, end)],
    ['no width', ofParts(pngHeader(0, 8), pixels, end)],
    ['a depth that its colours cannot have', ofParts(pngHeader(8, 8, 4, 2), pixels, end)],
    ['a frame beside it', ofParts(pngHeader(8, 8), frameControl(8, 8, 1, 0), pixels, end)],
    [
      'a frame that reaches over the edge',
      gif(10, 10, [
        { width: 10, height: 10 },
        { left: 5, width: 10, height: 10 },
      ]),
    ],
  ])('one with %s', async (_name, bytes) => {
    expect(await kind(bytes)).toBe('damaged')
  })
})

describe('pixels', () => {
  test('40 million are taken, one row more is not', async () => {
    expect(await kind(png(10_000, 4_000))).toBe('image')
    expect(await judge(png(10_000, 4_001))).toEqual({
      kind: 'too-many-pixels',
      reason: 'is 10000 × 4001 pixels; at most 10000 per side and 40 million in total',
    })
  })

  test('a small file that would explode', async () => {
    expect(await kind(png(10_001, 1))).toBe('too-many-pixels')
    expect(await kind(ofParts(pngHeader(0x7fff_ffff, 0x7fff_ffff), pixels, end))).toBe('too-many-pixels')
    expect(await kind(gif(65_535, 65_535, [{ width: 1, height: 1 }]))).toBe('too-many-pixels')
  })

  test('so would one with very many large frames', async () => {
    const frame = { width: 6_000, height: 6_000 }
    expect(await kind(gif(6_000, 6_000, Array(27).fill(frame)))).toBe('image')
    expect(await kind(gif(6_000, 6_000, Array(28).fill(frame)))).toBe('too-many-pixels')
  })
})

test('no bytes make it throw, or take long', async () => {
  const heads = [
    Buffer.from('GIF89a'),
    pngSignature,
    Buffer.concat([pngSignature, pngHeader(8, 8)]),
    gif().subarray(0, 430),
  ]
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 400 }), async (head, rest) => {
      expect((await judge(Buffer.concat([head, rest]), 13)).kind).not.toBe('image')
    }),
    { numRuns: 500 },
  )
})

/** APNG, fcTL. */
function frameControl(width: number, height: number, left: number, top: number): Buffer {
  const data = Buffer.alloc(26)
  for (const [index, value] of [0, width, height, left, top].entries()) data.writeUInt32BE(value, index * 4)
  return pngChunk('fcTL', data)
}
