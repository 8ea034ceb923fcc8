import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { acmeKey, otherKey, seed, uids } from '../support/seeds.ts'

const decimal = (hex: string): string => BigInt(`0x${hex}`).toString()

describe('chips of a team', () => {
  let t: TestApp
  beforeAll(async () => {
    t = await openTestApp({ seed })
  })
  afterAll(() => t.close())

  const call = (method: 'GET' | 'PATCH' | 'POST', url: string, payload?: unknown, key = acmeKey) =>
    t.app.inject({
      method,
      url,
      headers: {
        'x-svc-api-key': key,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(payload === undefined
        ? {}
        : { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
    })
  const listed = async (): Promise<Record<string, string | null>> => {
    const chips: { uid: string; redirectUrl: string | null }[] = (
      await call('GET', '/chips?name=Jackets')
    ).json()
    return Object.fromEntries(chips.map((chip) => [chip.uid, chip.redirectUrl]))
  }
  const edit = (tagUIDs: unknown, redirectUrl: unknown, key = acmeKey) =>
    call('PATCH', '/chips', { tagUIDs, updates: { redirectUrl } }, key)

  describe('GET /chips', () => {
    test('lists a group by name or id, the id first, with what is configured', async () => {
      const byName = (await call('GET', '/chips?name=Jackets')).json()
      const byId = (await call('GET', '/chips?chipGroupId=1&name=Prints')).json()
      expect(byId).toEqual(byName)
      expect(byName).toHaveLength(5)
      const configured = Object.fromEntries(
        byName.map((chip: { uid: string; isConfigured: boolean }) => [chip.uid, chip.isConfigured]),
      )
      expect(configured).toEqual({
        [decimal(uids.jacket)]: true,
        [decimal(uids.twin)]: true,
        [decimal(uids.unminted)]: true,
        [decimal(uids.events)]: true,
        [decimal(uids.blank)]: false,
      })
      expect(byName[0]).toEqual({
        uid: expect.stringMatching(/^\d+$/),
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        isConfigured: expect.any(Boolean),
        redirectUrl: expect.toSatisfy((url: unknown) => url === null || typeof url === 'string'),
      })
    })

    test('takes its parameters from a JSON body too, and an empty body with that type is none', async () => {
      const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' }
      const body = await t.app.inject({
        method: 'GET',
        url: '/chips',
        headers,
        payload: '{"name":"Jackets"}',
      })
      expect(body.json()).toHaveLength(5)
      const empty = await t.app.inject({ method: 'GET', url: '/chips?name=Jackets', headers, payload: '' })
      expect(empty.json()).toHaveLength(5)
    })

    test('needs one of them, and a group of the team', async () => {
      expect((await call('GET', '/chips')).statusCode).toBe(400)
      expect((await call('GET', '/chips?name=Nothing')).statusCode).toBe(404)
      expect((await call('GET', '/chips?chipGroupId=1', undefined, otherKey)).statusCode).toBe(404)
      expect((await call('GET', '/chips?chipGroupId=one')).json().message).toContain('chipGroupId')
    })

    test('needs a key', async () => {
      const answer = await t.app.inject({ url: '/chips?name=Jackets' })
      expect({ status: answer.statusCode, code: answer.json().code }).toEqual({
        status: 401,
        code: 'api_key_missing',
      })
    })
  })

  describe('PATCH /chips', () => {
    test('sets and clears the URL of chips, named in decimal or in hex', async () => {
      expect(
        (await edit([decimal(uids.blank), '04:a1:b2:c3:d4:e5:80'], 'https://x.example/?a=%20')).json(),
      ).toEqual({ success: true })
      expect((await listed())[decimal(uids.blank)]).toBe('https://x.example/?a=%20')
      expect((await listed())[decimal(uids.unminted)]).toBe('https://x.example/?a=%20')
      await edit([uids.blank, uids.unminted], null)
      expect((await listed())[decimal(uids.blank)]).toBeNull()
      await edit([uids.blank], 'https://x.example/')
      await edit([uids.blank, uids.blank], '')
      expect((await listed())[decimal(uids.blank)]).toBeNull()
    })

    test.each([
      [undefined, null, 'tagUIDs: Required'],
      ['049893CAAA1190', null, 'tagUIDs'],
      [[], null, 'tagUIDs'],
      [[1293660434600336.5], null, 'tagUIDs.0'],
      [['1.29366E+15'], null, 'scientific'],
      [['04989'.repeat(20)], null, 'tagUIDs.0'],
      [[uids.blank, 'nonsense'], null, 'tagUIDs.1'],
      [[uids.blank], undefined, 'updates.redirectUrl: Required'],
      [[uids.blank], 7, 'updates.redirectUrl'],
      [[uids.blank], 'javascript:alert(1)', 'updates.redirectUrl'],
      [[uids.blank], 'https://a:b@x.example', 'updates.redirectUrl'],
      [[uids.blank], 'https://x.example/\u0000', 'updates.redirectUrl'],
      [[uids.blank], `https://x.example/${'a'.repeat(5000)}`, 'updates.redirectUrl'],
      [[uids.blank], 'https://x.example/\ud800', 'updates.redirectUrl'],
    ])('refuses %j to %j by name, and changes nothing', async (tagUIDs, url, words) => {
      const before = await listed()
      const answer = await edit(tagUIDs, url)
      expect(answer.statusCode).toBe(400)
      expect(answer.json().message).toContain(words)
      expect(await listed()).toEqual(before)
    })

    test('ten thousand UIDs with one unknown among them change nothing, and it is named', async () => {
      const rows = Array.from({ length: 9999 }, (_, i) => (1_200_000_000_000_001n + BigInt(i)).toString())
      const csv = `uid\n${rows.join('\n')}\n`
      const imported = await t.app.inject({
        method: 'POST',
        url: '/admin/chips/import?team=Acme&chipGroup=Many&keySet=101&report=failures',
        headers: { ...t.admin, 'content-type': 'text/csv' },
        payload: csv,
      })
      expect(imported.body.trim()).toBe('{"created":9999,"unchanged":0,"failed":0}')
      const answer = await edit([...rows, '1299999999999999'], 'https://many.example/')
      expect(answer.statusCode).toBe(404)
      expect(answer.json().message).toContain('1299999999999999')
      const many: { redirectUrl: string | null }[] = (await call('GET', '/chips?name=Many')).json()
      expect(many).toHaveLength(9999)
      expect(many.every((chip) => chip.redirectUrl === null)).toBe(true)
      expect((await edit(rows, 'https://many.example/')).statusCode).toBe(200)
    })

    test("another team's key sees a 404 and changes nothing", async () => {
      const before = await listed()
      expect((await edit([uids.blank], 'https://evil.example/', otherKey)).statusCode).toBe(404)
      expect(await listed()).toEqual(before)
    })

    test.each(['{', '[]', '"x"', '{"tagUIDs":', 'null', '{"__proto__":{"x":1}}'])(
      'a body that is no object is a 400: %s',
      async (payload) => {
        expect((await call('PATCH', '/chips', payload)).statusCode).toBe(400)
      },
    )

    test('a body that is too large is a 413, one of another type a 415', async () => {
      const huge = await call('PATCH', '/chips', `{"tagUIDs":["${'1'.repeat(33 * 1024 * 1024)}"]}`)
      expect(huge.statusCode).toBe(413)
      const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'text/plain' }
      const text = await t.app.inject({ method: 'PATCH', url: '/chips', headers, payload: 'no JSON' })
      expect(text.statusCode).toBe(415)
    })

    test('stands in the audit table with the key that did it', async () => {
      await edit([uids.blank], 'https://audited.example/')
      const [change] = (await t.app.inject({ url: '/admin/audit?limit=1', headers: t.admin })).json()
      expect(change).toMatchObject({
        actor: 'key:ops',
        action: 'chips.edit',
        team: 'Acme',
        target: decimal(uids.blank),
      })
    })
  })

  describe('POST /chips/batch', () => {
    const batch = async (rows: unknown[], search = '', key = acmeKey) => {
      const payload = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n')
      const answer = await t.app.inject({
        method: 'POST',
        url: `/chips/batch${search}`,
        headers: { 'x-svc-api-key': key, 'content-type': 'application/x-ndjson' },
        payload,
      })
      const lines = answer.body.trim().split('\n')
      return { status: answer.statusCode, body: answer.body, lines: lines.map((line) => JSON.parse(line)) }
    }
    beforeEach(() => edit([uids.blank, uids.unminted], null))

    test('answers a line a row with what stood there before; an unknown chip fails alone', async () => {
      const { status, lines } = await batch([
        { uid: uids.blank, redirectUrl: 'https://one.example/' },
        { uid: '04AAAAAAAAAA80', redirectUrl: 'https://two.example/' },
        { uid: uids.unminted, redirectUrl: '' },
      ])
      expect(status).toBe(200)
      expect(lines).toEqual([
        { row: 1, uid: decimal(uids.blank), status: 'changed', previous: null },
        {
          row: 2,
          uid: decimal('04AAAAAAAAAA80'),
          status: 'failed',
          error: expect.stringContaining('no such chip'),
        },
        { row: 3, uid: decimal(uids.unminted), status: 'unchanged', previous: null },
      ])
      expect((await listed())[decimal(uids.blank)]).toBe('https://one.example/')
    })

    test('a row that expects something else than what is there fails alone', async () => {
      const url = 'https://mine.example/'
      const { lines } = await batch([
        { uid: uids.blank, redirectUrl: url, expected: 'https://not-that.example/' },
        { uid: uids.unminted, redirectUrl: url, expected: null },
      ])
      expect(lines.map((line) => line.status)).toEqual(['failed', 'changed'])
    })

    test('a dry run says the same and changes nothing', async () => {
      const before = await listed()
      const { lines } = await batch(
        [{ uid: uids.blank, redirectUrl: 'https://dry.example/' }],
        '?dryRun=true',
      )
      expect(lines[0].status).toBe('changed')
      expect(await listed()).toEqual(before)
    })

    test('a body with a row that does not fit is refused whole, every bad row named', async () => {
      const before = await listed()
      const { status, body } = await batch([
        { uid: uids.blank, redirectUrl: 'https://good.example/' },
        { uid: 'x', redirectUrl: null },
        'not json',
        { uid: uids.blank, redirectUrl: 'data:x' },
        { uid: uids.blank },
      ])
      expect(status).toBe(400)
      for (const row of ['row 2', 'row 3', 'row 4', 'row 5']) expect(body).toContain(row)
      expect(body).not.toContain('row 1:')
      expect(await listed()).toEqual(before)
    })

    test("another team's chips are unknown chips", async () => {
      const { lines } = await batch([{ uid: uids.blank, redirectUrl: 'https://evil.example/' }], '', otherKey)
      expect(lines[0].status).toBe('failed')
      expect((await listed())[decimal(uids.blank)]).toBeNull()
    })

    test('an empty body is a 400', async () => {
      const headers = { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' }
      expect(
        (await t.app.inject({ method: 'POST', url: '/chips/batch', headers, payload: '' })).statusCode,
      ).toBe(400)
      expect(
        (await t.app.inject({ method: 'POST', url: '/chips/batch', headers: { 'x-svc-api-key': acmeKey } }))
          .statusCode,
      ).toBe(400)
    })
  })

  describe('items and chip groups', () => {
    test('an item has its contract and its media, and the first of them is featured', async () => {
      const item = (await call('GET', '/items/jacket')).json()
      const media = { mimeType: 'image/png', url: 'https://img.acme.example/jacket.png' }
      expect(item).toEqual({
        id: 'jacket',
        name: 'Jacket',
        description: 'A shell jacket',
        imageUrl: 'https://img.acme.example/jacket.png',
        contract: { name: 'Jackets', symbol: 'JKT', address: expect.stringMatching(/^0x/), chainId: 31337 },
        media: [media],
        featuredMedia: media,
        attributes: [{ name: 'Size', values: ['S', 'M'] }],
        variants: [{ id: 's', attributes: [{ name: 'Size', value: 'S' }] }],
      })
      expect((await call('GET', '/items')).json()).toEqual([item])
      const { address } = item.contract
      expect(
        (await call('GET', `/items?contractAddress=${address.toLowerCase()}&chainId=31337`)).json(),
      ).toEqual([item])
      expect((await call('GET', `/items?contractAddress=${address}&chainId=1`)).json()).toEqual([])
      expect((await call('GET', `/items?contractAddress=${address}`)).json().message).toContain('chainId')
      expect((await call('GET', '/items?contractAddress=0x12&chainId=1')).json().message).toContain(
        'contractAddress',
      )
    })

    test("an item's chips come with their tokens", async () => {
      const chips = (await call('GET', '/items/jacket/chips')).json()
      const tokenOf = Object.fromEntries(
        chips.map((chip: { uid: string; linkedToken?: { tokenId: string } }) => [
          chip.uid,
          chip.linkedToken?.tokenId,
        ]),
      )
      expect(tokenOf).toEqual({ [decimal(uids.jacket)]: '1', [decimal(uids.unminted)]: undefined })
      expect((await call('GET', '/items/nothing')).statusCode).toBe(404)
      expect((await call('GET', '/items/nothing/chips')).statusCode).toBe(404)
      expect((await call('GET', '/items/jacket', undefined, otherKey)).statusCode).toBe(404)
    })

    test('chip groups are those of the team', async () => {
      const names = (await call('GET', '/chip-groups')).json().map((group: { name: string }) => group.name)
      expect(names).toEqual(expect.arrayContaining(['Jackets', 'Prints']))
      const [other] = (await call('GET', '/chip-groups', undefined, otherKey)).json()
      expect(other).toEqual({ id: 3, name: 'Others', createdAt: expect.any(String) })
    })
  })
})
