import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => here.remove())

const file = (name: string, text: string | Buffer) => writeFileSync(join(here.home, name), text)
const read = (name: string) => readFileSync(join(here.home, name), 'utf8')
const apply = (...args: string[]) => here.run('chips', 'apply', '--team', 'Acme', '--file', ...args)
const exportTo = (name: string, ...args: string[]) =>
  here.run('chips', 'export', '--team', 'Acme', '--file', name, ...args)
const all = async () =>
  (await here.run('chips', 'export', '--team', 'Acme', '--json')).lines() as Record<string, unknown>[]
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''
const colons = (hex: string) => hex.replace(/..(?=.)/g, '$&:')

let next = 0x10
const newUid = () => `04BB00000000${(next++).toString(16).padStart(2, '0')}`.toUpperCase()
const created = async (...columns: string[]): Promise<string> => {
  const uid = newUid()
  file('new.csv', `uid,chipGroup,keySet\n${uid},Jackets,101\n`)
  expect((await apply('new.csv')).code).toBe(0)
  if (columns.length > 0) file('sheet.csv', columns.join('\n').replaceAll('UID', uid))
  return uid
}

describe('chips apply', () => {
  test('takes an export back unchanged', async () => {
    const before = await all()
    expect((await exportTo('chips.csv')).code).toBe(0)
    const ran = await apply('chips.csv', '--json')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('0 changed, 7 unchanged, 0 failed.')])
    expect(ran.lines()).toHaveLength(before.length)
    expect(ran.lines()).toContainEqual({ row: 1, uid: before[0]?.uid, status: 'unchanged' })
    expect(await all()).toEqual(before)
    file('chips.jsonl', (await here.run('chips', 'export', '--team', 'Acme', '--json')).stdout)
    expect((await apply('chips.jsonl')).stderr).toContain('0 changed, 7 unchanged, 0 failed.')
  })

  test('leaves alone what a row has no cell for, and clears what its empty cell is for', async () => {
    const [short, whole] = [await created(), await created()]
    const values = `uid,label,redirectUrl\n${short},A,https://a.example/\n${whole},B,https://b.example/\n`
    file('values.csv', values)
    expect((await apply('values.csv')).code).toBe(0)
    file('excel.csv', `uid,label,redirectUrl\r\n${short},C\r\n${whole},D,\r\n`)
    expect((await apply('excel.csv')).code).toBe(0)
    expect(await all()).toContainEqual(
      expect.objectContaining({ label: 'C', redirectUrl: 'https://a.example/' }),
    )
    expect(await all()).toContainEqual(expect.objectContaining({ label: 'D', redirectUrl: null }))
  })

  test('creates, changes, moves, and unlinks, shows it before, and takes it back', async () => {
    const before = await all()
    const fresh = newUid()
    file(
      'sheet.csv',
      `uid,label,chipGroup,keySet,tokenId,redirectUrl\n${fresh},New one,Shelf,101,,https://new.example/\n` +
        `${uids.twin},Twin,Shelf,101,,\n${uids.blank},,Jackets,101,,\n`,
    )
    const dry = await apply('sheet.csv', '--dry-run')
    expect([dry.code, dry.stdout.split('\n')[0]]).toEqual([
      0,
      'Plan: 1 to create, 1 to change (1 to another chip group, 1 unlinked), 1 unchanged, 0 in conflict, 0 would fail.',
    ])
    expect(dry.stdout).toContain('chipGroup Jackets → Shelf')
    expect(await all()).toEqual(before)
    const refused = await apply('sheet.csv', '--json')
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('Apply this to 2 chips (unlinks 1)? Confirm with --yes'),
    ])
    expect(await all()).toEqual(before)
    const ran = await apply('sheet.csv', '--json', '--yes')
    expect([ran.code, ran.lines()]).toEqual([
      0,
      [
        {
          row: 1,
          uid: expect.any(String),
          status: 'created',
          changes: {
            label: { from: null, to: 'New one' },
            chipGroup: { from: null, to: 'Shelf' },
            keySet: { from: null, to: 101 },
            redirectUrl: { from: null, to: 'https://new.example/' },
          },
        },
        {
          row: 2,
          uid: expect.any(String),
          status: 'changed',
          changes: expect.objectContaining({ tokenId: { from: '1', to: null } }),
        },
        { row: 3, uid: expect.any(String), status: 'unchanged' },
      ],
    ])
    expect(ran.stderr).toContain('Plan: 1 to create, 1 to change')
    expect(await all()).toContainEqual(
      expect.objectContaining({ label: 'Twin', chipGroup: 'Shelf', tokenId: null }),
    )
    const id = batchId(ran.stderr)
    expect((await here.run('batch', 'report', id)).stdout).toContain('label - → Twin')
    const undone = await here.run('batch', 'undo', id, '--yes', '--json')
    expect([undone.code, undone.lines()]).toMatchObject([0, [{ status: 'removed' }, { status: 'changed' }]])
    expect(await all()).toEqual(before)
    // An undo is a batch itself.
    expect((await here.run('batch', 'undo', batchId(undone.stderr), '--yes')).code).toBe(0)
    expect(await all()).toContainEqual(expect.objectContaining({ label: 'New one', chipGroup: 'Shelf' }))
    expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(0)
    expect(await all()).toEqual(before)
  })

  test('what somebody else changed since the export is a conflict, exit 3, and is not overwritten', async () => {
    const uid = await created('uid,redirectUrl\nUID,https://theirs.example/')
    expect((await exportTo('chips.csv')).code).toBe(0)
    expect((await apply('sheet.csv')).code).toBe(0)
    const row =
      read('chips.csv')
        .split('\n')
        .find((line) => line.startsWith(colons(uid))) ?? ''
    const [heading = ''] = read('chips.csv').split('\n')
    file('mine.csv', `${heading}\n${row.replace('Jackets,101,,,', 'Jackets,101,,https://mine.example/,')}\n`)
    const ran = await apply('mine.csv', '--json', '--failed', 'again.csv')
    expect([ran.code, ran.lines()]).toMatchObject([
      3,
      [{ status: 'conflict', error: expect.stringContaining('changed in the meantime') }],
    ])
    expect(read('again.csv')).toContain('https://mine.example/')
    expect(await all()).toContainEqual(expect.objectContaining({ redirectUrl: 'https://theirs.example/' }))
    // Nothing to change: unchanged, whatever the revision.
    file(
      'theirs.csv',
      `${heading}\n${row.replace('Jackets,101,,,', 'Jackets,101,,https://theirs.example/,')}\n`,
    )
    expect((await apply('theirs.csv', '--json')).lines()).toMatchObject([{ status: 'unchanged' }])
  })
})

describe('a sheet that went through a spreadsheet', () => {
  const saved = async () => {
    const label = `Größe „M“ €${next}`
    await created(`uid,label\nUID,${label}`)
    expect((await apply('sheet.csv')).code).toBe(0)
    expect((await exportTo('out.csv', '--bom', '--delimiter', ';', '--yes')).code).toBe(0)
    return read('out.csv')
  }
  const bytesOf1252 = (text: string) =>
    Buffer.from(text.replaceAll('„', '\x84').replaceAll('“', '\x93').replaceAll('€', '\x80'), 'latin1')
  const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16()
  const ways: [string, (text: string) => string | Buffer][] = [
    ['UTF-8 with a byte order mark and semicolons', (text) => text],
    ['UTF-16 LE with its mark, and tabs', (text) => Buffer.from(text.replaceAll(';', '\t'), 'utf16le')],
    ['UTF-16 BE with its mark', swapped],
    ['UTF-16 LE without a mark', (text) => Buffer.from(text.slice(1), 'utf16le')],
    ['UTF-16 BE without a mark', (text) => swapped(text.slice(1))],
    ['Windows-1252', (text) => bytesOf1252(text.slice(1))],
  ]
  test.each(ways)('%s comes back unchanged', async (_, encode) => {
    const text = await saved()
    expect([text[0], text]).toEqual(['\uFEFF', expect.stringContaining(';Größe „M“ €')])
    const before = await all()
    file('back.csv', encode(text))
    const ran = await apply('back.csv')
    expect([ran.code, ran.stderr]).toEqual([
      0,
      expect.stringContaining(`0 changed, ${before.length} unchanged`),
    ])
    expect(await all()).toEqual(before)
  })
})

describe('chips export --file', () => {
  test('overwrites only when told to', async () => {
    file('out.csv', 'mine')
    const refused = await exportTo('out.csv')
    expect([refused.code, refused.stderr]).toEqual([2, 'out.csv exists. Overwrite it? Confirm with --yes\n'])
    expect(read('out.csv')).toBe('mine')
    expect((await exportTo('out.csv', '--yes')).code).toBe(0)
    expect(read('out.csv')).toContain('uid,chipGroup')
  })
})

describe('doubted UIDs', () => {
  const create = (uid: string, ...args: string[]) => {
    file('doubt.csv', `uid,chipGroup,keySet\n${uid},Jackets,101\n`)
    return apply('doubt.csv', ...args)
  }
  const importOf = (uid: string, ...args: string[]) => {
    file('import.csv', `uid\n${uid}\n`)
    return here.run(
      'chips',
      'import',
      '--team',
      'Acme',
      '--chip-group',
      'Jackets',
      '--key-set',
      '101',
      '--file',
      'import.csv',
      ...args,
    )
  }

  test('one that does not begin with 04 needs --yes, to apply and to import alike', async () => {
    const before = await all()
    for (const run of [create, importOf]) {
      const refused = await run('05DE5F1EACC041')
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining('does not begin with 04 in hex'),
      ])
      expect(refused.stderr).toContain('--yes')
    }
    expect(await all()).toEqual(before)
    const accepted = await create('05DE5F1EACC041', '--yes', '--json')
    expect(accepted.lines()).toMatchObject([{ status: 'created' }])
    // It is there now, so nobody doubts it.
    file('again.csv', 'uid,label\n05DE5F1EACC041,Accepted\n')
    expect((await apply('again.csv', '--json')).lines()).toMatchObject([{ status: 'changed' }])
    expect((await importOf('06DE5F1EACC041', '--yes')).code).toBe(0)
  })

  test('hex whose zero a spreadsheet dropped is named as such', async () => {
    for (const run of [create, importOf]) {
      const refused = await run('4DE5F1EACC042', '--yes')
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining('14 hex digits, and has 13. A spreadsheet may have dropped the zero'),
      ])
    }
    // Without a letter it reads as a decimal number, whose hex does not begin with 04.
    expect((await create('4123456789012')).stderr).toContain('does not begin with 04')
  })
})
