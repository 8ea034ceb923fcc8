import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BadgeApp, eventFields, eventForm, openBadgeApp } from '../support/badges.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { gif, png, pngHeader, pngSignature } from '../support/poap/image-bytes.ts'
import { acmeKey, seed } from '../support/seeds.ts'

let t: BadgeApp
beforeAll(async () => {
  t = await openBadgeApp()
})
afterAll(() => t.close())

describe('creating a badge event', () => {
  test('answers the id of the service and what the provider says, dates as MM-DD-YYYY', async () => {
    const { status, body } = await t.create({ privateEvent: 'true' })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.any(Number),
      poapResponse: {
        id: expect.any(Number),
        fancy_id: expect.stringMatching(/^opening-night-2026-\d+$/),
        name: 'Opening night',
        description: 'Doors open at nine.',
        city: 'Lisbon',
        country: 'Portugal',
        event_url: 'https://acme.example/opening',
        // Nobody guesses the image of a private event.
        image_url: expect.stringMatching(
          `^${t.ctx.baseUrl}/badge-events/${body.id}/image\\?file=[\\w-]{21}$`,
        ),
        animation_url: '',
        year: 2026,
        start_date: '05-30-2026',
        end_date: '06-02-2026',
        expiry_date: '07-01-2026',
        from_admin: false,
        virtual_event: false,
        event_template_id: 0,
        private_event: true,
      },
    })
    expect(body.poapResponse.id).toBeGreaterThanOrEqual(100_000)
  })

  test('ten at once get ten ids at the provider', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => t.create()))
    expect(made.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(new Set(made.map(({ body }) => body.poapResponse.id)).size).toBe(10)
  })

  test('once: ten at once make one, and a request without it makes another', async () => {
    const fields = { name: 'Only one' }
    const made = await Promise.all(Array.from({ length: 10 }, () => t.create(fields, { once: true })))
    expect(made.map(({ status }) => status)).toEqual(Array(10).fill(200))
    const ids = new Set(made.map(({ body }) => body.id))
    expect([ids.size, made.filter(({ body }) => !body.unchanged).length]).toEqual([1, 1])
    for (const { body } of made) expect(body.poapResponse.image_url).toContain(`/${body.id}/image`)
    expect((await t.app.inject(`/badge-events/${made[0]?.body.id}/image`)).statusCode).toBe(200)
    const plain = await t.create(fields)
    expect([ids.has(plain.body.id), plain.body.unchanged]).toEqual([false, undefined])
    expect(ids.has((await t.create({ ...fields, requestedCodes: '6' }, { once: true })).body.id)).toBe(false)
  })

  test('once: the same key answers as before, also after a kill', async () => {
    const fields = { name: 'Kept by its key' }
    const keyed = { once: true, headers: { 'idempotency-key': 'row-1' } }
    const first = await t.create(fields, keyed)
    await t.ctx.db.write((trx) =>
      trx.updateTable('idempotencyKeys').set({ answer: null }).where('key', '=', 'row-1').execute(),
    )
    expect((await t.create(fields, keyed)).body).toEqual(first.body)
    const other = await t.create(fields, { once: true, headers: { 'idempotency-key': 'row-2' } })
    expect(other.body).toEqual({ ...first.body, unchanged: true })
  })

  test('takes its parts in any order, and passes over what it does not know', async () => {
    const { status } = await t.create({ colour: 'red' }, { imageFirst: true })
    expect(status).toBe(200)
  })

  test.each([
    ['True', true],
    ['FALSE', false],
    ['1', true],
    ['0', false],
  ])('reads %s as a boolean', async (written, read) => {
    const { body } = await t.create({ virtualEvent: written })
    expect(body.poapResponse.virtual_event).toBe(read)
  })

  test.each([
    'name',
    'description',
    'city',
    'country',
    'startDate',
    'endDate',
    'expiryDate',
    'requestedCodes',
    'virtualEvent',
  ])('without %s is a 400 that names it', async (field) => {
    const { status, body } = await t.create({ [field]: undefined })
    expect({ status, message: body.message }).toEqual({ status: 400, message: `${field}: Required` })
  })

  test('names all that is missing at once, the image too', async () => {
    const { status, body } = await t.create({ name: undefined, city: undefined }, { image: null })
    expect({ status, message: body.message }).toEqual({
      status: 400,
      message: 'name: Required; city: Required; image: Required',
    })
  })

  test.each([
    [{ requestedCodes: 'many' }, 'requestedCodes'],
    [{ requestedCodes: '-1' }, 'requestedCodes'],
    [{ privateEvent: 'perhaps' }, 'privateEvent'],
    [{ eventURL: 'javascript:alert(1)' }, 'eventURL'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(257) }, 'name'],
    [{ description: 'x'.repeat(20_000) }, 'description'],
  ])('refuses %j', async (fields, named) => {
    const { status, body } = await t.create(fields)
    expect(status).toBe(400)
    expect(body.message).toContain(named)
  })

  test('a field that is given twice is a 400', async () => {
    const form = await eventForm()
    const boundary = /boundary=(.+)$/.exec(form.headers['content-type'])?.[1]
    const again = Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; name="city"\r\n\r\nPorto\r\n`)
    const answer = await t.app.inject({
      method: 'POST',
      url: '/badge-events',
      headers: { 'x-svc-api-key': acmeKey, ...form.headers },
      payload: Buffer.concat([again, form.payload]),
    })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().message).toBe('city is given twice')
  })

  test('an Idempotency-Key creates once, and tells another form from the first', async () => {
    const headers = { 'idempotency-key': 'spring' }
    const first = await t.create({}, { headers })
    const again = await t.create({}, { headers })
    expect(again.body).toEqual(first.body)
    expect((await t.create({ name: 'Another' }, { headers })).status).toBe(409)
    expect((await t.create({}, { headers, image: gif() })).status).toBe(409)
  })
})

describe('days', () => {
  test.each([
    ['an end before the start', { endDate: '2026-05-29' }, 'endDate'],
    ['an expiry before the end', { expiryDate: '2026-06-01' }, 'expiryDate'],
    ['31 February', { startDate: '2026-02-31' }, 'startDate'],
    ['29 February of a year that has none', { startDate: '2025-02-29' }, 'startDate'],
    ['a time', { startDate: '2026-05-30T23:30:00-03:00' }, 'startDate'],
    ['another order', { endDate: '06-02-2026' }, 'endDate'],
    ['nothing', { expiryDate: '' }, 'expiryDate'],
  ])('%s is a 400', async (_what, fields, named) => {
    const { status, body } = await t.create(fields)
    expect(status).toBe(400)
    expect(body.message).toContain(named)
  })

  test('29 February of a leap year, all three days the same, and a past event are fine', async () => {
    const day = { startDate: '2024-02-29', endDate: '2024-02-29', expiryDate: '2024-02-29' }
    expect((await t.create(day)).status).toBe(200)
  })
})

describe('images', () => {
  const explosive = Buffer.concat([pngSignature, pngHeader(50_000, 50_000)])
  const large = (bytes: number) => png(8, 8, { bytes: bytes - png(8, 8, { bytes: 0 }).length })

  test.each([
    [
      'a GIF header over something else',
      Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(4000, 'x')]),
      415,
    ],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"></svg>'), 415],
    ['a JPEG', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0]), 415],
    ['half a PNG', png().subarray(0, 40), 415],
    ['a PNG with a page behind it', Buffer.concat([png(), Buffer.from('<script>')]), 415],
    ['dimensions that would explode', explosive, 400],
    ['4 MiB', large(4 * 1024 * 1024), 413],
  ])('%s is refused', async (_what, image, wanted) => {
    const { status, body } = await t.create({}, { image })
    expect({ status, says: /^image: /.test(body.message) }).toEqual({ status: wanted, says: true })
  })

  test('a byte less than 4 MiB is taken, and served as it came', async () => {
    const image = large(4 * 1024 * 1024 - 1)
    expect(image.length).toBe(4 * 1024 * 1024 - 1)
    const { status, body } = await t.create({}, { image })
    expect(status).toBe(200)
    const served = await t.app.inject({ url: `/badge-events/${body.id}/image` })
    expect(served.rawPayload.equals(image)).toBe(true)
  })

  test('a PNG named .gif is a PNG, and is served so that no browser runs it', async () => {
    const { body } = await t.create({}, { filename: 'badge.gif', type: 'image/gif' })
    const { statusCode, headers, rawPayload } = await t.app.inject({ url: `/badge-events/${body.id}/image` })
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    })
    expect(rawPayload.equals(png())).toBe(true)
  })

  test('a GIF is served as one', async () => {
    const { body } = await t.create({}, { image: gif() })
    const served = await t.app.inject({ url: `/badge-events/${body.id}/image` })
    expect(served.headers['content-type']).toBe('image/gif')
  })

  test.each(['/badge-events/999/image', '/badge-events/x/image', '/badge-events/1/image'])(
    '%s: an event that is not there, or has none, is a 404',
    async (url) => {
      expect((await t.app.inject({ url })).statusCode).toBe(404)
    },
  )

  test('a second image, an image as text, an empty one, and none are 400s', async () => {
    const form = await eventForm({}, { image: null })
    const boundary = /boundary=(.+)$/.exec(form.headers['content-type'])?.[1]
    const part = (filename: string, bytes: string) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="image"${filename}\r\n\r\n${bytes}\r\n`
    const send = async (...parts: string[]) => {
      const answer = await t.app.inject({
        method: 'POST',
        url: '/badge-events',
        headers: { 'x-svc-api-key': acmeKey, ...form.headers },
        payload: Buffer.concat([Buffer.from(parts.join(''), 'latin1'), form.payload]),
      })
      return [answer.statusCode, answer.json().message]
    }
    const good = part('; filename="a.png"', png().toString('latin1'))
    expect(await send(good)).toEqual([200, undefined])
    expect(await send(good, good)).toEqual([400, 'image must be one file, not several'])
    expect(await send(part('', 'data:image/png;base64,'))).toEqual([
      400,
      expect.stringContaining('image must be a file'),
    ])
    expect(await send(part('; filename=""', ''))).toEqual([400, 'image: Required'])
    expect(await send()).toEqual([400, 'image: Required'])
    const other = good.replace('name="image"', 'name="logo"')
    expect(await send(other)).toEqual([400, expect.stringContaining('logo must not be a file')])
  })
})

describe('bodies that are no form', () => {
  const send = async (headers: Record<string, string>, payload: string | Buffer) => {
    const answer = await t.app.inject({
      method: 'POST',
      url: '/badge-events',
      headers: { 'x-svc-api-key': acmeKey, ...headers },
      payload,
    })
    return { status: answer.statusCode, code: answer.json().code }
  }

  test.each([
    'application/json',
    'application/x-www-form-urlencoded',
    'multipart/mixed; boundary=a',
    'image/png',
  ])('%s is a 415', async (type) => {
    expect(await send({ 'content-type': type }, JSON.stringify(eventFields))).toEqual({
      status: 415,
      code: 'unsupported_media_type',
    })
  })

  test('a form without a boundary, cut off, or of other bytes is a 400', async () => {
    const { headers, payload } = await eventForm()
    const bad = { status: 400, code: 'invalid_input' }
    expect(await send({ 'content-type': 'multipart/form-data' }, payload)).toEqual(bad)
    expect(await send(headers, payload.subarray(0, payload.length - 30))).toEqual(bad)
    expect(await send(headers, payload.subarray(0, 500))).toEqual(bad)
    expect(await send(headers, Buffer.alloc(5000, 'x'))).toEqual(bad)
    expect(await send(headers, '')).toEqual(bad)
  })

  test('a form that is larger than all that is taken is a 413', async () => {
    const { headers, payload } = await eventForm({ colour: 'x'.repeat(5 * 1024 * 1024) })
    expect(await send(headers, payload)).toEqual({ status: 413, code: 'too_large' })
  })

  test('ten thousand parts are a 400', async () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`f${n}`, 'x']))
    const { headers, payload } = await eventForm(many)
    expect((await send(headers, payload)).status).toBe(400)
  })
})

test('images are in the database: no file is left, not even where a killed daemon left one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-badge-images-'))
  const files = () => readdirSync(join(dataDir, 'badge-images'))
  const open = () => openBadgeApp({ dataDir })
  let app = await open()
  try {
    await app.create({}, { image: Buffer.alloc(4000, 'x') })
    await app.create({ startDate: '2026-02-31' })
    await app.create({ name: undefined })
    expect(files()).toEqual([])
    const { body } = await app.create()
    expect(files()).toEqual([])
    const get = () => app.app.inject({ url: `/badge-events/${body.id}/image` })
    const stored = app.ctx.db.read.selectFrom('badgeImages').selectAll()
    const { data } = await stored.executeTakeFirstOrThrow()
    expect((await get()).rawPayload.equals(data)).toBe(true)
    await app.close()
    writeFileSync(join(dataDir, 'badge-images', 'half'), 'x')
    app = await open()
    expect(files()).toEqual([])
    expect((await get()).rawPayload.equals(data)).toBe(true)
    const head = await app.app.inject({ method: 'HEAD', url: `/badge-events/${body.id}/image` })
    expect([head.statusCode, head.headers['content-type']]).toEqual([200, 'image/png'])
  } finally {
    await app.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
})

test('a browser may send it from any page', async () => {
  const answer = await t.app.inject({
    method: 'OPTIONS',
    url: '/badge-events',
    headers: {
      origin: 'https://shop.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-svc-api-key',
    },
  })
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  expect(answer.headers['access-control-allow-headers']).toContain('x-svc-api-key')
})

test('over HTTP a body that is far too large is still answered', async () => {
  const daemon = await startTestDaemon({ seed })
  try {
    for (const megabytes of [6, 30]) {
      const { headers, payload } = await eventForm({}, { image: Buffer.alloc(megabytes * 1024 * 1024, 'x') })
      const answer = await fetch(`${daemon.url}/badge-events`, {
        method: 'POST',
        headers: { 'x-svc-api-key': acmeKey, ...headers },
        body: new Uint8Array(payload),
      })
      expect([answer.status, JSON.parse(await answer.text()).code]).toEqual([413, 'too_large'])
    }
  } finally {
    await daemon.stop()
  }
})

describe('over HTTP, an upload that goes on and on', () => {
  const part = 'content-disposition: form-data; name="image"; filename="a.png"'
  const opening = Buffer.from(`--b\r\n${part}\r\ncontent-type: image/png\r\n\r\n`)
  const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'multipart/form-data; boundary=b' }
  const aMegabyte = Buffer.alloc(1024 * 1024, 'x')
  let daemon: Awaited<ReturnType<typeof startTestDaemon>>
  beforeAll(async () => {
    daemon = await startTestDaemon({ seed })
  })
  afterAll(() => daemon.stop())

  test('is answered, and then its connection ends', async () => {
    const sending = request(`${daemon.url}/badge-events`, { method: 'POST', headers })
    let sent = 0
    const ended = new Promise<void>((resolve) => {
      sending.on('error', () => resolve())
      sending.on('close', () => resolve())
    })
    const send = () => {
      if (sending.destroyed) return
      sent += aMegabyte.length
      // As fast as it is taken, and without end.
      if (sending.write(aMegabyte)) setImmediate(send)
      else sending.once('drain', send)
    }
    sending.write(opening)
    send()
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    expect(answer.statusCode).toBe(413)
    const answered = sent
    expect(answered).toBeLessThan(64 * 1024 * 1024)
    answer.resume()
    await ended
    expect(sending.destroyed).toBe(true)
  })

  test('by fetch', async () => {
    const endless = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(opening)),
      pull: (controller) => controller.enqueue(new Uint8Array(aMegabyte)),
    })
    const init = { method: 'POST', headers, body: endless, duplex: 'half' }
    const answer = await fetch(`${daemon.url}/badge-events`, init as RequestInit)
    expect(answer.status).toBe(413)
    expect(JSON.parse(await answer.text()).code).toBe('too_large')
  })

  test('by curl', async () => {
    const head = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const curl = spawn(
      'curl',
      ['-s', '-m', '14', '-w', ' %{http_code}', ...head, '-X', 'POST', '-T', '-'].concat(
        `${daemon.url}/badge-events`,
      ),
    )
    curl.stdin.on('error', () => undefined)
    curl.stdin.write(opening)
    const endless = Readable.from(
      (function* () {
        for (;;) yield aMegabyte
      })(),
    )
    endless.pipe(curl.stdin)
    let said = ''
    curl.stdout.on('data', (chunk) => {
      said += chunk
    })
    await once(curl, 'close')
    endless.destroy()
    expect(said).toContain('too_large')
    expect(said).toContain(' 413')
  })
})

test('without a key nothing of the body is read', async () => {
  const { headers, payload } = await eventForm()
  const answer = await t.app.inject({ method: 'POST', url: '/badge-events', headers, payload })
  expect(answer.statusCode).toBe(401)
})
