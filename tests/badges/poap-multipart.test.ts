import { expect, test } from 'vitest'
import { multipart } from '../../src/daemon/badges/poap-wire.ts'
import { imageOf, newEvent, openPoapClient, secretCode } from '../support/poap/client.ts'
import { inPieces, png } from '../support/poap/image-bytes.ts'

async function collected(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return chunks
}

test('its length is known before, and the image passes through piece by piece', async () => {
  const bytes = png(8, 8, { bytes: 3_000_000 })
  const { headers, body } = multipart({ name: 'Ä' }, imageOf(bytes))
  const chunks = await collected(body)
  expect(Buffer.concat(chunks)).toHaveLength(Number(headers['content-length']))
  // Head, pieces of 64 KiB, tail; the pieces are those that the image gave.
  expect(chunks).toHaveLength(2 + Math.ceil(bytes.length / 65_536))
  expect(chunks[1]?.buffer).toBe(bytes.buffer)
})

test('no text can end its own part', async () => {
  const { headers } = multipart({}, imageOf(png()))
  const boundary = headers['content-type'].split('boundary=')[1]
  const name = `a"; filename="x\r\n--${boundary}--\r\ncontent-disposition: form-data; name="email"\r\n\r\nevil@x.example`
  const description = 'Zeile 1\r\nZeile 2\n\n“Ünïcödé” 🎟️ \\ % + &'
  const { poap, provider } = await openPoapClient()
  const created = await provider.create({ ...newEvent, name, description }, imageOf(png()), secretCode)
  if (created.kind !== 'created') throw new Error(JSON.stringify(created))
  expect(poap.event(created.upstreamId).fields).toMatchObject({ name, description, email: poap.config.email })
  expect(created.response).toMatchObject({ name, description })
})

test('an image that is shorter or longer than was said is not sent as a whole', async () => {
  const bytes = png()
  for (const size of [bytes.length - 1, bytes.length + 1]) {
    const image = { ...imageOf(bytes), size, bytes: () => inPieces(bytes, 16) }
    await expect(collected(multipart({}, image).body)).rejects.toThrow('The image should have')
  }
})

test('an image just under 4 MB arrives whole', async () => {
  const bytes = png(8, 8, { bytes: 4_194_303 - png(8, 8, { bytes: 0 }).length })
  const { poap, provider } = await openPoapClient()
  const created = await provider.create(newEvent, imageOf(bytes), secretCode)
  if (created.kind !== 'created') throw new Error(JSON.stringify(created))
  expect(poap.event(created.upstreamId).image).toEqual({ type: 'image/png', size: 4_194_303 })
})
