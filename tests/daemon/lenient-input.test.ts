import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { newBadgeEvent } from '../../src/daemon/contract/badge-events.ts'
import { required } from '../../src/daemon/contract/list.ts'
import { metadataRow, moveRow } from '../../src/daemon/contract/phygital-batches.ts'
import { DomainError } from '../../src/daemon/domain/errors/errors.ts'
import { describeIssues, inputParser } from '../../src/daemon/http/parse-input.ts'
import { seedFile } from '../../src/daemon/seed/schema.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { table } from '../support/hostile-requests.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let t: TestApp
let contractAddress: string
let guestbook: string
beforeAll(async () => {
  t = await openTestApp({ seed, clock: testClock() })
  const contracts = await t.ctx.db.read.selectFrom('contracts').selectAll().execute()
  contractAddress = contracts.find(({ kind }) => kind === 'phygital')?.address ?? ''
  guestbook = contracts.find(({ kind }) => kind === 'guestbook')?.address ?? ''
})
afterAll(() => t.close())

const call = (
  method: 'GET' | 'POST' | 'PATCH',
  url: string,
  payload?: object | string,
  type = 'application/json',
) =>
  t.app.inject({
    method,
    url,
    headers: { 'x-svc-api-key': acmeKey, ...(payload === undefined ? {} : { 'content-type': type }) },
    ...(payload === undefined ? {} : { payload }),
  })
const uid = String(Number.parseInt(uids.events, 16))

let counter = 0
const refOf = async (chip: string): Promise<string> => {
  counter += 1
  const opened = await t.app.inject({ url: tapPath(tap(derived, { uid: chip }, counter)) })
  return new URL(String(opened.headers.location)).searchParams.get('svcRef') ?? ''
}

describe('what deployed clients send', () => {
  test.each(['True', 'TRUE', 'true', '1'])('includeMetadata=%s', async (value) => {
    const ref = await refOf(uids.jacket)
    const answer = await call('GET', `/refs/${ref}?includeMetadata=${value}&includeOwner=False`)
    expect(answer.json().linkedToken.metadata).toMatchObject({ name: 'Jacket #1' })
  })

  test('times with an offset, and empty fields beside a chip', async () => {
    const assigned = await call('POST', '/badge-events/assign', {
      poapEventId: 1,
      tagUID: Number.parseInt(uids.blank, 16),
      contractAddress: '',
      chainId: null,
      tokenId: '',
      startsAt: '2026-05-01T02:00:00+02:00',
      endsAt: '2026-06-30T00:00:00.123456+00:00',
    })
    expect(assigned.json()).toEqual({ success: true })
    const rows = await t.ctx.db.read.selectFrom('badgeAssignments').selectAll().execute()
    expect(rows.at(-1)).toMatchObject({
      startsAt: '2026-05-01T00:00:00.000Z',
      endsAt: '2026-06-30T00:00:00.123Z',
    })
    for (const startsAt of [
      '2026-05-01T02:00:00',
      '2026-05-01',
      '2026-02-30T02:00:00+02:00',
      '2026-05-01T02:00:00+25:00',
      5,
    ]) {
      const refused = await call('POST', '/badge-events/assign', { poapEventId: 1, tagUID: uid, startsAt })
      expect(refused.statusCode).toBe(400)
      expect(refused.json().message).toContain('startsAt: must be an existing time with its zone')
    }
    const neither = await call('POST', '/badge-events/assign', {
      poapEventId: 1,
      tagUID: '',
      contractAddress: '',
    })
    expect(neither.json().message).toContain('Required, unless tagUID is given')
  })

  test('an eventId of null beside a token, and an empty token beside an eventId', async () => {
    const metadata = JSON.stringify({ name: 'A', collection: '', description: '', image: '', attributes: [] })
    const token = { tokenId: '1', contractAddress: guestbook, chainId: 31337 }
    for (const named of [
      { eventId: null, ...token },
      { eventId: '', ...token },
      { eventId: 1, contractAddress: '', chainId: null },
    ])
      expect((await call('PATCH', '/events/metadata', { ...named, metadata })).json()).toEqual({
        success: true,
      })
    expect((await call('PATCH', '/events/metadata', { eventId: null, metadata })).statusCode).toBe(400)
  })

  test('a UID as a number, as long as it is exact', async () => {
    const edit = (body: string) => call('PATCH', '/chips', body)
    const updates = '"updates":{"redirectUrl":null}'
    expect((await edit(`{"tagUIDs":[${uid}],${updates}}`)).statusCode).toBe(200)
    for (const [wrong, why] of [
      ['9007199254740993', 'loses its last digits'],
      ['12345678901234567890', 'loses its last digits'],
      ['1.5', 'must be a UID'],
      ['0', 'must be a UID'],
      ['-1293660434600336', 'must be a UID'],
      ['true', 'must be a UID'],
    ]) {
      const refused = await edit(`{"tagUIDs":[${wrong}],${updates}}`)
      expect([wrong, refused.statusCode]).toEqual([wrong, 400])
      expect(refused.json().message).toContain(why)
    }
    // Fourteen digits are hex where they are text, and decimal where they are a number.
    expect((await edit(`{"tagUIDs":[12345678901234],${updates}}`)).json().message).toContain('12345678901234')
  })
})

describe('metadata', () => {
  const digits = '115792089237316195423570985008687907853269984665640564039457584007913129639935'
  const withValue = (value: string, more = '') =>
    `{"name":"J","collection":"","description":"javascript: the good parts","image":"","attributes":[{"trait_type":"Serial","value":${value}}],"media_gallery":[]${more}}`
  const patch = (metadata: string) =>
    call('PATCH', '/phygitals/metadata', { contractAddress, chainId: 31337, tokenId: '1', metadata })
  const served = async () => (await t.app.inject({ url: `/metadata/31337/${contractAddress}/1` })).body
  const batch = async (line: string, query = '') =>
    (await call('POST', `/phygitals/metadata/batch${query}`, line, 'application/x-ndjson')).body

  test('that a seed gives in part is served with the other fields empty', async () => {
    const empty = { collection: '', description: '', image: '', attributes: [], media_gallery: [] }
    const event = await t.app.inject({ url: `/metadata/31337/${guestbook}/1` })
    expect(Object.keys(event.json()).sort()).toEqual(
      expect.arrayContaining(['attributes', 'collection', 'name']),
    )
    expect(JSON.parse(await served())).toEqual({ name: 'Jacket #1', ...empty })
    const ref = await refOf(uids.jacket)
    const { linkedToken } = (await call('GET', `/refs/${ref}?includeMetadata=true`)).json()
    expect(linkedToken.metadata).toEqual({ name: 'Jacket #1', external_url: '', ...empty })
  })

  test('keeps the digits of large numbers, in and out', async () => {
    expect((await patch(withValue(digits, `,"big":[${digits},0.12345678901234567890]`))).statusCode).toBe(200)
    expect(await served()).toContain(`"value":${digits}}`)
    expect(await served()).toContain(`"big":[${digits},0.12345678901234567890]`)
    const ref = await refOf(uids.jacket)
    const { body } = await call('GET', `/refs/${ref}?includeMetadata=true`)
    expect(body).toContain(`"value":${digits}`)
    expect(body).toContain(`"big":[${digits},0.12345678901234567890]`)

    const token = `"contractAddress":"${contractAddress}","chainId":31337,"tokenId":"1"`
    const next = withValue(`${digits.slice(0, -1)}4`)
    const before = `,"expected":${await served()}`
    expect(await batch(`{${token},"metadata":${next}${before}}`, '?dryRun=true')).toContain(
      `"value":${digits}}`,
    )
    // One digit decides whether it is what was expected.
    expect(await batch(`{${token},"metadata":${next},"expected":${next}}`)).toContain(
      'changed in the meantime',
    )
    expect(await batch(`{${token},"metadata":${next}${before}}`)).toContain('"status":"changed"')
    expect(await served()).toBe(next)
    expect(await batch(`{${token},"metadata":${next}}`)).toContain('"status":"unchanged"')
    // As an object within the body, too.
    const body2 = `{${token},"metadata":${withValue(digits)}}`
    expect((await call('PATCH', '/phygitals/metadata', body2)).statusCode).toBe(200)
    expect(await served()).toBe(withValue(digits))
  })

  test.each([
    ['"a\\u0000b"', '', 'metadata.attributes.0.value', 'NUL'],
    ['"\\ud800"', '', 'metadata.attributes.0.value', 'broken Unicode'],
    ['1', ',"external_url":"java\\tscript:alert(1)"', 'metadata.external_url', 'javascript:'],
    ['1', ',"links":["https://a.example/",["vbscript:x"]]', 'metadata.links.1.0', 'vbscript:'],
    [
      '1',
      ',"properties":{"files":[{"uri":"file:///etc/passwd"}]}',
      'metadata.properties.files.0.uri',
      'file:',
    ],
    ['1', ',"a\\u0000":1', 'metadata', 'NUL'],
  ])('refuses %s%s', async (value, more, path, why) => {
    const before = await served()
    for (const refused of [
      await patch(withValue(value, more)),
      await call('PATCH', '/events/metadata', { eventId: 1, metadata: withValue(value, more) }),
    ]) {
      expect(refused.statusCode).toBe(400)
      expect(refused.json().errors[path]).toContain(why)
    }
    expect(await served()).toBe(before)
  })
})

test('a disabled chip says so at every tap', async () => {
  const first = tapPath(tap(derived, { uid: uids.twin }, 1))
  const opened = await t.app.inject({ url: first })
  const cookie = String(opened.headers['set-cookie']).split(';')[0] ?? ''
  const done = await t.app.inject({
    method: 'POST',
    url: `/admin/chips/${uids.twin}/disable`,
    headers: t.admin,
    payload: { reason: 'stolen' },
  })
  expect(done.statusCode).toBe(200)
  const second = tapPath(tap(derived, { uid: uids.twin }, 2))
  for (const url of [second, second, first]) {
    for (const headers of [{}, { cookie }]) {
      const { statusCode, body } = await t.app.inject({ url, headers })
      expect([url, statusCode]).toEqual([url, 404])
      expect(body).toContain('switched off')
    }
    expect((await t.app.inject({ method: 'HEAD', url })).statusCode).toBe(404)
  }
})

describe("the validator's own words", () => {
  const wrong: unknown[] = [
    ...[null, true, false, 0, -1, 1.5, 2 ** 53, -(2 ** 60), Number.POSITIVE_INFINITY, Number.NaN],
    ...[
      '',
      ' ',
      'x',
      'True',
      '-1',
      '1e5',
      '0x',
      '0x12',
      '\0',
      '\ud800',
      'javascript:x',
      '2026-13-45',
      '9'.repeat(400),
    ],
    ...['x'.repeat(6000), [], [null], [[1]], {}, { a: 1 }, { length: 1 }, undefined],
  ]
  const raw =
    /invalid (input|string|option|type|number|key|element|value)|\bexpected\b(?!:)|received|unrecognized|too (big|small)|match pattern|\bNaN\b|undefined|regex/i

  /** All leaves of a schema with the same value. */
  const leaves = (schema: z.core.JSONSchema.BaseSchema, value: unknown): unknown => {
    if (schema.properties)
      return Object.fromEntries(
        Object.entries(schema.properties).map(([name, one]) => [name, leaves(Object(one), value)]),
      )
    const either = schema.anyOf?.find((one) => Object(one).properties ?? Object(one).items)
    if (either) return leaves(Object(either), value)
    return schema.items ? [leaves(Object(schema.items), value)] : value
  }
  const inputsOf = (schema: z.ZodType, value: unknown): unknown[] => {
    const shape = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    const fields = Object.keys(shape.properties ?? {})
    return [Object.fromEntries(fields.map((name) => [name, value])), leaves(shape, value)]
  }
  const refused = {
    metadata: JSON.stringify({ name: 1, collection: [], attributes: [{ value: {} }], media_gallery: 'x' }),
  }

  test.each(table.filter(({ spec }) => spec.body ?? spec.query ?? spec.params))(
    '$key never shows them',
    async ({ method, spec }) => {
      for (const value of wrong) {
        const whole = z.object({ ...spec.params?.().shape, ...spec.query?.().shape, ...spec.body?.().shape })
        for (const input of [...inputsOf(whole, value), refused]) {
          const given = { method, params: input, query: input, body: input }
          const parse = async () => inputParser(spec)(given)
          const error: unknown = await parse().catch((caught: unknown) => caught)
          if (!(error instanceof Error)) continue
          expect(error).toBeInstanceOf(DomainError)
          expect(error.message.replaceAll(String(value), '')).not.toMatch(raw)
        }
      }
    },
  )

  test.each(Object.entries({ moveRow, metadataRow, newBadgeEvent, seedFile }))(
    'nor do rows, forms, and seeds: %s',
    async (_name, schema) => {
      for (const value of wrong) {
        for (const input of [value, ...inputsOf(schema, value)]) {
          const { error } = await schema.safeParseAsync(input, { error: required })
          if (error) expect(describeIssues(error.issues).replaceAll(String(value), '')).not.toMatch(raw)
        }
      }
    },
  )
})
