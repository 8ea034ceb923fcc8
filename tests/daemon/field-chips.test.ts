import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { encryptFileData, encryptPiccData, sunMac } from '../../src/nfc/ntag424/sun.ts'
import { filled, macInput } from '../../src/nfc/ntag424/template/match.ts'
import { parseTemplate } from '../../src/nfc/ntag424/template/parse.ts'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'

// Chips as others set them up, over HTTP: each tap counts once, and is a replay from then on.

interface FieldCase {
  name: string
  keySet: { metaReadKey?: string; fileReadKey?: string; template: string; tamper?: string }
  uid: string
  taps: { query: string; counter: number; fileData?: string; tamper?: string }[]
}
const file: {
  cases: FieldCase[]
  withoutCounter: { uid: string; template: string; query: string }
} = JSON.parse(readFileSync(new URL('../../fixtures/vectors/field-chips.json', import.meta.url), 'utf8'))

const zero = '0'.repeat(32)
const decimal = (uid: string): string => uidFromBytes(Buffer.from(uid, 'hex'))
const keySetOf = ({ keySet }: Pick<FieldCase, 'keySet'>, id = 7) => ({
  id,
  metaReadKey: zero,
  fileReadKey: zero,
  diversification: 'none',
  ...keySet,
})

let daemon: TestDaemon | undefined
afterEach(async () => {
  await daemon?.stop()
  daemon = undefined
})

async function start(keySets: object[], chips: object[]): Promise<TestDaemon> {
  daemon = await startTestDaemon({
    seed: { version: 1, keySets, teams: [{ name: 'T', chipGroups: [{ name: 'G', chips }] }] },
  })
  return daemon
}
const find = async ({ url }: TestDaemon, query: string) => {
  const answer = await fetch(`${url}/chips/find?${query}`)
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}
const admin = async ({ url, adminToken }: TestDaemon, method: string, path: string, body?: object) => {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/admin/${path}`, { method, headers, body: JSON.stringify(body) })
  return JSON.parse(await answer.text())
}
const open = async ({ url }: TestDaemon, query: string) => (await fetch(`${url}/t?${query}`)).status
const reversed = (query: string): string => query.split('&').toReversed().join('&')

describe.each(file.cases)('$name', (one) => {
  const uid = decimal(one.uid)

  test('is found once, in whatever order its parameters come, and then is a replay', async () => {
    const running = await start([keySetOf(one)], [{ uid: one.uid, keySet: 7 }])
    for (const { query } of one.taps) {
      const forged = query.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
      expect(await find(running, forged)).toMatchObject({ status: 200, body: { uid, isValidTap: false } })
      expect(await find(running, `utm=1&${reversed(query)}`)).toMatchObject({
        status: 200,
        body: { uid, isValidTap: true },
      })
      expect(await find(running, query)).toMatchObject({ status: 200, body: { uid, isValidTap: false } })
      expect(await open(running, query)).toBe(410)
    }
  })

  test('is in the list of taps, and told, with what its data says', async () => {
    const running = await start([keySetOf(one)], [{ uid: one.uid, keySet: 7 }])
    const { db } = running.ctx
    await admin(running, 'POST', 'webhooks', { team: 'T', url: 'https://hooks.example/in' })
    for (const { query } of one.taps) await find(running, query)
    const list: object[] = await admin(running, 'GET', 'taps')
    const told = await db.read
      .selectFrom('webhookDeliveries')
      .select('data')
      .where('type', '=', 'tap.valid')
      .execute()
    for (const [index, { counter, fileData, tamper }] of one.taps.toReversed().entries()) {
      expect(list[index]).toMatchObject({ counter, fileData: fileData ?? null, tamper: tamper ?? null })
      const data = JSON.parse(told.at(-1 - index)?.data ?? '')
      expect(data).toEqual({
        ...{ uid, counter, via: 'find', keySet: 7, chipGroup: 'G' },
        ...(fileData === undefined ? {} : { fileData }),
      })
    }
    const last = one.taps.at(-1)
    expect(await admin(running, 'GET', `chips/${one.uid}`)).toMatchObject({ tamper: last?.tamper ?? null })
  })

  test('opens its page once', async () => {
    const running = await start([keySetOf(one)], [{ uid: one.uid, keySet: 7 }])
    for (const { query } of one.taps) {
      expect(await open(running, query)).toBe(200)
      expect(await open(running, query)).toBe(410)
    }
  })

  test('is found beside sets of the default names and of every other template', async () => {
    const others = file.cases.filter((other) => other !== one)
    const running = await start(
      [
        {
          ...keySetOf({ keySet: { template: '?d={keySet}&e={picc}&c={mac}' } }, 1),
          metaReadKey: 'a'.repeat(32),
        },
        ...others.map((other, index) => ({ ...keySetOf(other, 10 + index), fileReadKey: 'b'.repeat(32) })),
        keySetOf(one),
      ],
      [{ uid: one.uid, keySet: 7 }],
    )
    for (const { query } of one.taps)
      expect(await find(running, query)).toMatchObject({ status: 200, body: { uid, isValidTap: true } })
  })
})

describe('a chip whose taps are made here', () => {
  const [metaReadKey, fileReadKey] = ['1'.repeat(32), '2'.repeat(32)]
  const chip = '04A1B2C3D4E580'
  const uidBytes = Buffer.from(chip, 'hex')
  const keyOf = (hex: string): AesKey => new AesKey(Buffer.from(hex, 'hex'))
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()
  const query = (
    { text, tamper = null }: { text: string; tamper?: string | null },
    {
      counter = 1,
      mode = 'aes',
      data = 'CC and 14 others',
    }: { counter?: number; mode?: 'aes' | 'lrp'; data?: string | Buffer },
    status = '',
  ): string => {
    const template = parseTemplate(text, tamper)
    const tap = { uid: uidBytes, counter, mode }
    const values = {
      picc: hex(encryptPiccData(keyOf(metaReadKey), tap, Buffer.alloc(mode === 'lrp' ? 13 : 5, counter))),
      uid: chip,
      ctr: counter.toString(16).padStart(6, '0'),
      enc: hex(encryptFileData(keyOf(fileReadKey), tap, Buffer.from(data))),
      mac: '',
    }
    const mac = hex(sunMac(keyOf(fileReadKey), tap, macInput(template, '7', values, status)))
    return filled(template.query, '7', { ...values, mac }, status)
  }
  const running = (template: string, tamper?: string) =>
    start(
      [keySetOf({ keySet: { metaReadKey, fileReadKey, template, ...(tamper ? { tamper } : {}) } })],
      [{ uid: chip, keySet: 7 }],
    )

  test.each([
    '?^d={keySet}&e={picc}&c={mac}',
    '?picc_data={picc}&enc=^{enc}&cmac={mac}',
    '?e={picc}^{enc}{mac}',
    '?m={uid}x{ctr}x{mac}',
    '?uid=^{uid}&ctr={ctr}&mac={mac}',
  ])('in LRP mode verifies under %s, once', async (text) => {
    const daemon = await running(text)
    const tap = query({ text }, { mode: 'lrp' })
    expect(await find(daemon, reversed(tap).toLowerCase())).toMatchObject({
      status: 200,
      body: { isValidTap: true },
    })
    expect(await open(daemon, tap)).toBe(410)
    expect(await open(daemon, query({ text }, { mode: 'lrp', counter: 2 }))).toBe(200)
    const [newest] = await admin(daemon, 'GET', 'taps?outcome=valid')
    expect(newest.fileData).toBe(text.includes('{enc}') ? 'CC and 14 others' : null)
  })

  test.each([
    ['Zürich, 5 m², x', true],
    ['no\ttext at all..', false],
    ['0x and the rest.', false],
    [Buffer.alloc(16, 0xf0), false],
  ])('keeps the data %j as text only where a person can read it', async (data, isText) => {
    const text = '?e={picc}&x=^{enc}&c={mac}'
    const bytes = Buffer.concat([Buffer.from(data), Buffer.from(' ')]).subarray(0, 16)
    const daemon = await running(text)
    await find(daemon, query({ text }, { data: bytes }))
    const [tap] = await admin(daemon, 'GET', 'taps')
    expect(tap.fileData).toBe(isText ? bytes.toString() : `0x${hex(bytes)}`)
  })

  test('that is a TagTamper shows its seal in the URL, or in its data', async () => {
    const inUrl = { text: '?uid=^{uid}&ctr={ctr}&tamper={tt}&mac={mac}' }
    const first = await running(inUrl.text)
    expect((await find(first, query(inUrl, { counter: 1 }, 'CC'))).body.isValidTap).toBe(true)
    expect(await admin(first, 'GET', `chips/${chip}`)).toMatchObject({ tamper: 'closed' })
    const opened = query(inUrl, { counter: 2 }, 'OO')
    expect((await find(first, opened.replace('OO', 'CC'))).body.isValidTap).toBe(false)
    // An app that does not know the parameter drops it.
    expect((await find(first, opened.replace('&tamper=OO', ''))).body.isValidTap).toBe(true)
    expect(await admin(first, 'GET', `chips/${chip}`)).toMatchObject({ tamper: 'open' })
    await first.stop()

    const inData = { text: '?e={picc}&x=^{enc}&c={mac}', tamper: 'enc:14' }
    const second = await running(inData.text, inData.tamper)
    for (const [counter, status, tamper] of [
      [1, 'II', null],
      [2, 'CC', 'closed'],
      [3, 'CO', 'open'],
      [4, 'CC', 'open'],
    ] as const) {
      const tap = query(inData, { counter, data: `fourteen bytes${status}` })
      expect((await find(second, tap)).body.isValidTap).toBe(true)
      expect(await admin(second, 'GET', `chips/${chip}`)).toMatchObject({ tamper })
    }
    const outside = '?uid={uid}&ctr={ctr}&tamper={tt}&mac={mac}'
    await second.stop()
    const third = await running(outside)
    // Anyone could change it, so it says nothing.
    expect((await find(third, query({ text: outside }, {}, 'OO'))).body.isValidTap).toBe(true)
    expect(await admin(third, 'GET', `chips/${chip}`)).toMatchObject({ tamper: null })
  })
})

test('a mirror without a counter is refused, with the reason', async () => {
  const { uid, template, query } = file.withoutCounter
  const running = await start([keySetOf({ keySet: { template } })], [{ uid, keySet: 7 }])
  expect(await find(running, query)).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/^picc_data decrypts to a UID without a counter, so a copy/) },
  })
  expect(await open(running, query)).toBe(400)
})

test('a chip verifies under its own key set alone, whatever other sets fit its URL', async () => {
  const [bolt] = file.cases
  if (!bolt) throw new Error('no case')
  // The holder of set 8 has the same keys, and makes a tap that is right under them; the chip is one of set 7.
  const running = await start(
    [{ ...keySetOf(bolt, 7), fileReadKey: 'c'.repeat(32) }, keySetOf(bolt, 8)],
    [{ uid: bolt.uid, keySet: 7 }],
  )
  for (const { query } of bolt.taps)
    expect(await find(running, query)).toMatchObject({ status: 200, body: { isValidTap: false } })
})

test('at most sixteen sets that fit are tried, those used last first', async () => {
  const [bolt] = file.cases
  if (!bolt) throw new Error('no case')
  const [first, second] = bolt.taps.map(({ query }) => query)
  const other = (id: number) => ({ ...keySetOf(bolt, id), metaReadKey: id.toString(16).padStart(32, 'd') })
  const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => other(from + i))
  const running = await start([keySetOf(bolt, 7), ...many(100, 15)], [{ uid: bolt.uid, keySet: 7 }])
  expect(await find(running, first ?? '')).toMatchObject({ body: { isValidTap: true } })
  for (const set of many(200, 15)) {
    const made = await admin(running, 'POST', 'key-sets', set)
    expect(made).toMatchObject({ id: set.id, warnings: [expect.stringContaining('{keySet}')] })
  }
  expect(await find(running, second ?? '')).toMatchObject({ body: { isValidTap: true } })
})

describe('a parameter d that is no key set’s number', () => {
  const tap = `e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`
  const bare = { ...keySetOf({ keySet: { template: '?e={picc}&c={mac}' } }, 9) }

  test.each([
    [
      'is malformed where every set has d',
      [keySetOf({ keySet: { template: '?d={keySet}&e={picc}&c={mac}' } })],
      'd=jacket',
      400,
    ],
    ['is another parameter where a set has none', [bare], 'd=jacket', 404],
    ['is another parameter where a set has none, also as a number', [bare], 'd=5', 404],
    [
      'is an unknown set where every set has d',
      [keySetOf({ keySet: { template: '?d={keySet}&e={picc}&c={mac}' } })],
      'd=5',
      404,
    ],
  ])('%s', async (_, sets, d, status) => {
    const running = await start(sets, [])
    expect((await find(running, `${d}&${tap}`)).status).toBe(status)
  })
})
