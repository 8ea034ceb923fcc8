import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { haloChip } from '../support/halo.ts'
import { acmeKey, derived, listedKey, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({ seed })
})
afterEach(() => t.close())

interface Line {
  row: number
  uid: string
  status: 'created' | 'unchanged' | 'failed'
  error?: string
}

/** Sends a sheet; the answer's lines, or the error where it is refused whole. */
async function send(content: string | Buffer, query: Record<string, string> = {}, type = 'text/csv') {
  const all = { team: 'Acme', chipGroup: 'New', keySet: '101', ...query }
  const answer = await t.app.inject({
    method: 'POST',
    url: `/admin/chips/import?${new URLSearchParams(all)}`,
    headers: { ...t.admin, 'content-type': type },
    payload: content,
  })
  const isLines = String(answer.headers['content-type']).startsWith('application/x-ndjson')
  const lines = isLines
    ? answer.body
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : []
  return { status: answer.statusCode, lines: lines as Line[], body: isLines ? undefined : answer.json() }
}

const importCsv = async (content: string, query: Record<string, string> = {}) =>
  (await send(content, query)).lines
const chip = async (uid: string) => (await t.call(`GET /admin/chips/${uid}`)).body
const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))
const numbered = (n: number): string =>
  uidFromBytes(Buffer.from(`04${n.toString(16).padStart(12, '0')}`, 'hex'))
const a = '04AAAAAAAAAA01'
const b = '04AAAAAAAAAA02'

describe('an import', () => {
  test('creates chips and the group that is missing, and answers a line a row in their order', async () => {
    expect(await importCsv(`uid\n${b}\n04:aa:aa:aa:aa:aa:01\n`)).toEqual([
      { row: 1, uid: decimal(b), status: 'created' },
      { row: 2, uid: decimal(a), status: 'created' },
    ])
    expect(await chip(a)).toMatchObject({
      uid: decimal(a),
      uidHex: a,
      team: 'Acme',
      chipGroup: { name: 'New' },
      family: 'ntag424',
      keySet: 101,
      generation: 0,
      isConfigured: false,
      isSimulated: false,
      lastCounter: null,
      lastTapAt: null,
    })
  })

  test('takes every column, with quotes, CRLF and a byte order mark', async () => {
    const contract = (await t.call('GET /admin/contracts?team=Acme')).body[0]
    const csv = [
      'uid,label,redirectUrl,item,variant,contractAddress,chainId,tokenId,lastCounter',
      `${a},"No. 1, ""blue""",https://acme.example/a,jacket,s,${contract.address.toLowerCase()},31337,007,12`,
      `${b},,,,,,,,`,
    ].join('\r\n')
    expect(await importCsv(`\uFEFF${csv}`)).toMatchObject([{ status: 'created' }, { status: 'created' }])
    expect(await chip(a)).toMatchObject({
      label: 'No. 1, "blue"',
      redirectUrl: 'https://acme.example/a',
      item: { id: 'jacket', name: 'Jacket', variant: 's' },
      linkedToken: { contractAddress: contract.address, chainId: 31337, tokenId: '7', ownerAddress: null },
      lastCounter: 12,
      isConfigured: true,
    })
    expect(await chip(b)).toMatchObject({ label: null, redirectUrl: null, item: null, lastCounter: null })
  })

  test('takes JSON lines', async () => {
    const rows = [
      { uid: a, label: 'A', redirectUrl: null, lastCounter: 3 },
      { uid: b, redirectUrl: '' },
    ]
    const text = `${rows.map((row) => JSON.stringify(row)).join('\r\n')}\n\n[1]\n{"uid":"${a}","colour":1}\n{`
    const { lines } = await send(text, {}, 'application/x-ndjson')
    expect(lines).toMatchObject([
      { row: 1, uid: decimal(a), status: 'created' },
      { row: 2, uid: decimal(b), status: 'created' },
      { row: 3, status: 'failed', error: 'is not a JSON object' },
      { row: 4, status: 'failed', error: expect.stringContaining('colour') },
      { row: 5, status: 'failed', error: 'is not a JSON object' },
    ])
    expect(await chip(a)).toMatchObject({ label: 'A', lastCounter: 3 })
  })

  test('of five thousand rows, some of them bad, registers the good ones, and the second time changes nothing', async () => {
    const rows = Array.from({ length: 5000 }, (_, n) =>
      n % 1000 === 999 ? `0${n}` : numbered((n * 7919) % 5003),
    )
    const csv = `uid\n${rows.join('\n')}`
    const first = await importCsv(csv)
    expect(first.map(({ row }) => row)).toEqual(rows.map((_, n) => n + 1))
    expect(first.map(({ uid }) => uid)).toEqual(rows)
    expect(first.filter(({ status }) => status === 'failed').map(({ row }) => row)).toEqual([
      1000, 2000, 3000, 4000, 5000,
    ])
    expect(first.filter(({ status }) => status === 'created')).toHaveLength(4995)
    const listed = await t.app.inject({ url: '/chips?name=New', headers: { 'x-svc-api-key': acmeKey } })
    expect(listed.json()).toHaveLength(4995)

    const again = await importCsv(csv)
    expect(again.filter(({ status }) => status === 'unchanged')).toHaveLength(4995)
    expect(again.filter(({ status }) => status === 'failed')).toHaveLength(5)
  })

  test('asked for failures alone, answers these and then the counts', async () => {
    const { lines } = await send(`uid\n${a}\nnonsense\n${uids.blank}\n`, {
      report: 'failures',
      chipGroup: 'Jackets',
    })
    expect(lines).toEqual([
      { row: 2, uid: 'nonsense', status: 'failed', error: expect.stringContaining('uid must be a UID') },
      { created: 1, unchanged: 1, failed: 1 },
    ])
  })

  test('as a dry run says the same and writes nothing', async () => {
    const csv = `uid,label\n${a},A\n${b},A\n${uids.blank},\n`
    const before = (await t.audit()).length
    const dry = await importCsv(csv, { dryRun: 'true' })
    expect((await t.call(`GET /admin/chips/${a}`)).status).toBe(404)
    expect((await t.call('GET /admin/chip-groups?team=Acme')).body).toHaveLength(2)
    expect(await t.audit()).toHaveLength(before)
    expect(await importCsv(csv)).toEqual(dry)
    expect(dry.map(({ status }) => status)).toEqual(['created', 'failed', 'failed'])
  })

  test('names an existing group by its id, and makes none from a number', async () => {
    expect(await importCsv(`uid\n${a}\n`, { chipGroup: '2' })).toMatchObject([{ status: 'created' }])
    expect((await chip(a)).chipGroup).toEqual({ id: 2, name: 'Prints' })
    expect(await send(`uid\n${b}\n`, { chipGroup: '99' })).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
    expect((await send(`uid\n${b}\n`, { chipGroup: '3' })).status).toBe(404)
  })

  test('is in the audit log once at its start and once at its end', async () => {
    await importCsv(`uid\n${a}\nx\n`)
    expect(await t.audit('team=Acme&action=chips.import')).toMatchObject([
      {
        actor: 'admin:root',
        target: 'New',
        detail: { keySet: 101, phase: 'finished', created: 1, unchanged: 0, failed: 1 },
      },
      { actor: 'admin:root', target: 'New', detail: { keySet: 101, phase: 'started' } },
    ])
    expect(await t.audit('team=Acme&action=chip-groups.create')).toMatchObject([{ target: 'New' }])
  })

  test('marks chips as simulated where it is asked to', async () => {
    await importCsv(`uid\n${a}\n`, { simulated: 'true' })
    expect((await chip(a)).isSimulated).toBe(true)
    await importCsv(`uid\n${b}\n`)
    expect(await importCsv(`uid\n${b}\n`, { simulated: 'true' })).toMatchObject([
      { status: 'failed', error: expect.stringContaining('physical') },
    ])
  })

  test('counts from the last counter that is given: what was tapped before is a replay', async () => {
    await importCsv(`uid,lastCounter\n${a},100\n`)
    const find = (n: number) => t.app.inject({ url: tapPath(tap(derived, { uid: a }, n), '/chips/find') })
    expect((await find(100)).json().isValidTap).toBe(false)
    expect((await find(101)).json().isValidTap).toBe(true)
    expect(await importCsv(`uid,lastCounter\n${a},100\n`)).toMatchObject([{ status: 'unchanged' }])
    expect(await importCsv(`uid,lastCounter\n${a},102\n`)).toMatchObject([
      { status: 'failed', error: expect.stringContaining('lastCounter') },
    ])
    expect((await chip(a)).lastCounter).toBe(101)
  })

  test('brings the keys of a listed key set, which are never shown', async () => {
    const query = { keySet: '103' }
    expect(await importCsv(`uid,fileReadKey\n${a},${listedKey}\n${b},\n`, query)).toMatchObject([
      { status: 'created' },
      { status: 'failed', error: expect.stringContaining('fileReadKey is missing') },
    ])
    expect(JSON.stringify(await chip(a)).toLowerCase()).not.toContain(listedKey)
    expect(await importCsv(`uid,fileReadKey\n${a},${listedKey.toUpperCase()}\n`, query)).toMatchObject([
      { status: 'unchanged' },
    ])
    const other = '00112233445566778899aabbccddeeff'
    const [line] = await importCsv(`uid,fileReadKey\n${a},${other}\n`, query)
    expect(line?.error).toContain('fileReadKey')
    expect(line?.error).not.toContain(other)
    expect(await importCsv(`uid,fileReadKey\n${b},${listedKey}\n`)).toMatchObject([
      { status: 'failed', error: expect.stringContaining('must not be given') },
    ])
  })

  test('registers HaLo chips by their public keys, with no key set', async () => {
    const halo = haloChip('import')
    const csv = `publicKey\n${halo.pk2.toLowerCase()}\n04${'11'.repeat(64)}\n`
    const response = await t.app.inject({
      method: 'POST',
      url: '/admin/chips/import?team=Acme&chipGroup=HaLo',
      headers: { ...t.admin, 'content-type': 'text/csv' },
      payload: csv,
    })
    const [first, second] = response.body
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    expect(first).toMatchObject({ row: 1, status: 'created' })
    expect(second).toMatchObject({ row: 2, status: 'failed', error: expect.stringContaining('publicKey') })
    expect(await chip(first.uid)).toMatchObject({ family: 'halo', keySet: null, publicKey: halo.pk2 })
    expect(await importCsv(`uid,publicKey\n${a},${halo.pk2}\n`)).toMatchObject([
      { status: 'failed', error: expect.stringContaining(first.uid) },
    ])
    const found = await t.app.inject({ url: tapPath(halo.tap(), '/chips/find') })
    expect(found.json()).toMatchObject({ uid: first.uid, isValidTap: true })
  })
})

test('cells that a spreadsheet leaves out at the end of a row are absent, and so is what nobody sees', async () => {
  const sheet = `\uFEFFuid,label,redirectUrl\r\n${a.replace(/..(?=.)/g, '$&-').toLowerCase()}\u200B,\u00A0Coat\u200E\r\n${b},Hat,,,\r\n`
  expect(await importCsv(sheet)).toMatchObject([
    { row: 1, uid: decimal(a), status: 'created' },
    { row: 2, status: 'created' },
  ])
  expect(await chip(a)).toMatchObject({ label: 'Coat', redirectUrl: null })
  expect(await chip(b)).toMatchObject({ label: 'Hat' })
})

describe('a row fails alone', () => {
  const failing: [string, string, string][] = [
    ['a UID in scientific notation', 'uid\n1.29366E+15', 'uid must not be in scientific notation'],
    ['no UID', 'uid,label\n,A', 'uid is missing'],
    ['an unknown item', `uid,item\n${a},coat`, 'item coat'],
    ["another team's item", `uid,item\n${a},other-item`, 'item other-item'],
    ['an unknown variant', `uid,item,variant\n${a},jacket,xl`, 'variant xl'],
    ['a variant without its item', `uid,variant\n${a},s`, 'item is missing'],
    ['half a token', `uid,tokenId\n${a},1`, 'belong together'],
    [
      'an unknown contract',
      `uid,contractAddress,chainId,tokenId\n${a},0x${'1'.repeat(40)},31337,1`,
      'contractAddress',
    ],
    [
      'a chain id that is none',
      `uid,contractAddress,chainId,tokenId\n${a},0x${'1'.repeat(40)},dev,1`,
      'chainId',
    ],
    [
      'a token id beyond 2^256',
      `uid,contractAddress,chainId,tokenId\n${a},0x${'1'.repeat(40)},1,${'9'.repeat(78)}`,
      'tokenId',
    ],
    [
      'a dangerous redirect',
      `uid,redirectUrl\n${a},javascript:alert(1)`,
      'redirectUrl must not use the scheme',
    ],
    ['a negative counter', `uid,lastCounter\n${a},-1`, 'lastCounter'],
    [
      'a counter of more than three bytes',
      `uid,lastCounter\n${a},16777216`,
      'lastCounter must be a whole number from 0 to 16777215',
    ],
    ['a NUL in a label', `uid,label\n${a},x\0y`, 'label must be'],
    ['too many cells', `uid\n${a},B`, 'has 2 cells, but the first row names 1 columns'],
    ['a quote in the wrong place', `uid,label\n${a},"x"y"`, 'a quoted text contains a quote'],
    ["another team's chip", 'uid\n04827F12647380', 'another team'],
    ['a chip of another key set', `uid\n${uids.plain}`, 'key set 102'],
    ['a chip of another group', `uid\n${uids.blank}`, 'another chip group'],
  ]
  test('with a cell that does not fit', async () => {
    for (const [index, [what, csv, reason]] of failing.entries()) {
      const fine = `04CCCCCCCCCC${(16 + index).toString(16).toUpperCase()}`
      const columns = (csv.split('\n')[0] ?? '').split(',').length
      const lines = await importCsv(`${csv}\n${fine}${','.repeat(columns - 1)}`)
      expect(lines, what).toMatchObject([
        { row: 1, uid: expect.any(String), status: 'failed', error: expect.stringContaining(reason) },
        { row: 2, uid: decimal(fine), status: 'created' },
      ])
    }
  })

  test('a chip with other values: the columns are named, and nothing is changed', async () => {
    await importCsv(`uid,label,redirectUrl\n${a},A,https://acme.example/a\n`)
    const [line] = await importCsv(`uid,label,redirectUrl\n${a},B,https://acme.example/b\n`)
    expect(line).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('different label, redirectUrl'),
    })
    expect(await chip(a)).toMatchObject({ label: 'A', redirectUrl: 'https://acme.example/a' })
    expect(await importCsv(`uid,label\n${a},\n`)).toMatchObject([{ status: 'unchanged' }])
  })

  test('a label that another chip has, in the sheet or before it', async () => {
    const lines = await importCsv(`uid,label\n${a},A\n${b},A\n${a},A\n`)
    expect(lines.map(({ status }) => status)).toEqual(['created', 'failed', 'unchanged'])
    expect(lines[1]?.error).toContain(decimal(a))
    expect((await importCsv(`uid,label\n${b},A\n`))[0]?.status).toBe('failed')
    expect((await importCsv(`uid,label\n${b},B\n`))[0]?.status).toBe('created')
  })

  test('a quote that is never closed takes the rest of the sheet with it', async () => {
    expect(await importCsv(`uid,label\n${b},B\n${a},"A\n${uids.blank},C\n`)).toMatchObject([
      { row: 1, status: 'created' },
      { row: 2, uid: a, status: 'failed', error: expect.stringContaining('never closed') },
    ])
  })

  test('bytes that are not UTF-8', async () => {
    const csv = Buffer.concat([
      Buffer.from(`uid,label\n${a},caf`),
      Buffer.of(0xe9),
      Buffer.from(`\n${b},ok\n`),
    ])
    const { lines } = await send(csv)
    expect(lines).toMatchObject([
      { status: 'failed', error: expect.stringContaining('UTF-8') },
      { status: 'created' },
    ])
  })

  test('a NTAG chip where no key set is named', async () => {
    const answer = await t.app.inject({
      method: 'POST',
      url: '/admin/chips/import?team=Acme&chipGroup=New',
      headers: { ...t.admin, 'content-type': 'text/csv' },
      payload: `uid\n${a}\n`,
    })
    expect(JSON.parse(answer.body)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('key set'),
    })
  })

  test('a quote that is never closed: what came before it stays, and the rest is not read', async () => {
    const lines = await importCsv(`uid,label\n${a},A\n${b},"B\n${'x'.repeat(70_000)}\n`)
    expect(lines).toMatchObject([
      { row: 1, status: 'created' },
      { row: 2, status: 'failed', error: expect.stringContaining('never closed') },
    ])
    const { lines: json } = await send(
      `{"uid":"${'x'.repeat(70_000)}"}\n{"uid":"${b}"}\n`,
      {},
      'application/jsonl',
    )
    expect(json).toMatchObject([
      { status: 'failed', error: expect.stringContaining('65536') },
      { status: 'created' },
    ])
  })
})

describe('an import is refused whole, and nothing is written', () => {
  const refused: [string, string, Record<string, string>, string, number, string][] = [
    ['with an unknown column', `uid,colour\n${a},red\n`, {}, 'text/csv', 400, '"colour"'],
    [
      'with an unknown member in the first line',
      `{"uid":"${a}","colour":1}\n`,
      {},
      'application/x-ndjson',
      400,
      '"colour"',
    ],
    ['with a column twice', `uid,uid\n${a},${a}\n`, {}, 'text/csv', 400, 'twice'],
    ['without a column of UIDs', 'label\nA\n', {}, 'text/csv', 400, 'uid'],
    ['with an empty body', '', {}, 'text/csv', 400, 'empty'],
    ['with an empty body of lines', '\n\n', {}, 'application/x-ndjson', 400, 'empty'],
    ['with a first row that never ends', 'x'.repeat(200_000), {}, 'text/csv', 400, 'first row'],
    ['as another content type', `uid\n${a}\n`, {}, 'text/plain', 415, 'text/csv'],
    ['for an unknown key set', `uid\n${a}\n`, { keySet: '999' }, 'text/csv', 404, '999'],
    ['for an unknown team', `uid\n${a}\n`, { team: 'Nobody' }, 'text/csv', 404, 'team'],
    ['without a group', `uid\n${a}\n`, { chipGroup: ' ' }, 'text/csv', 400, 'chipGroup'],
  ]
  test('for what its first row or its parameters say', async () => {
    const before = await t.audit()
    for (const [what, content, query, type, status, message] of refused) {
      const answer = await send(content, query, type)
      expect(answer.status, what).toBe(status)
      expect(answer.body.message, what).toContain(message)
      expect((await t.call(`GET /admin/chips/${a}`)).status, what).toBe(404)
      expect((await t.call('GET /admin/chip-groups?team=Acme')).body, what).toHaveLength(2)
      expect(await t.audit(), what).toEqual(before)
    }
  })
})

test('a sheet with its first row alone makes the group and registers nothing', async () => {
  expect(await send('uid', { report: 'failures' })).toMatchObject({
    lines: [{ created: 0, unchanged: 0, failed: 0 }],
  })
  expect(await importCsv('uid,label\r\n')).toEqual([])
})
