import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
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
  return { status: answer.status, body: await answer.json() }
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
  const headers = { authorization: `Bearer ${running.adminToken}`, 'content-type': 'application/json' }
  const post = (set: object) =>
    fetch(`${running.url}/admin/key-sets`, { method: 'POST', headers, body: JSON.stringify(set) })
  for (const set of many(200, 15)) expect((await post(set)).status).toBe(200)
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
