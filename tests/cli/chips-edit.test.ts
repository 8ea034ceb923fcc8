import { existsSync, linkSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseUid, uidToColons } from '../../src/nfc/uid.ts'
import { type CliHome, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

const decimal = (hex: string): string => {
  const parsed = parseUid(hex)
  if (!parsed.ok) throw new Error(parsed.reason)
  return parsed.uid
}
const file = (name: string, text: string): string => {
  writeFileSync(join(here.home, name), text)
  return name
}
const path = (name: string): string => join(here.home, name)
const redirectsNow = async (): Promise<ReadonlyMap<string, string | null>> => {
  const found = new Map<string, string | null>()
  for (const group of ['Jackets', 'Prints']) {
    const { json } = await here.run('chips', 'list', '--chip-group', group, '--json')
    for (const { uid, redirectUrl } of json() as { uid: string; redirectUrl: string | null }[])
      found.set(uid, redirectUrl)
  }
  return found
}
const redirectOf = async (hex: string) => (await redirectsNow()).get(decimal(hex))
const batches = () => here.json('batch', 'list')
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''

describe('chips edit --file', () => {
  test('changes the rows of a CSV, a line a row, and says what stood there before', async () => {
    file(
      'a.csv',
      `uid,redirectUrl\n${uids.blank},https://example.com/a\n${uidToColons(decimal(uids.twin))},\n`,
    )
    const ran = await here.run('chips', 'edit', '--file', 'a.csv', '--json')
    expect(ran.stderr).toMatch(/^At http:\S+ \(TAPCHIP_URL\), team Acme\nBatch b_/)
    expect(ran.stderr).not.toContain('Take it back')
    expect(ran.lines()).toEqual([
      { row: 1, uid: decimal(uids.blank), status: 'changed', previous: null },
      { row: 2, uid: decimal(uids.twin), status: 'unchanged', previous: null },
    ])
    expect(ran.code).toBe(0)
    expect(await redirectOf(uids.blank)).toBe('https://example.com/a')
    const again = await here.run('chips', 'edit', '--file', 'a.csv', '--json')
    expect(again.lines().map((line) => (line as { status: string }).status)).toEqual([
      'unchanged',
      'unchanged',
    ])
  })

  test('an unknown chip fails alone, and its row can be fed back', async () => {
    file(
      'b.csv',
      `uid,redirectUrl\n04000000000011,https://example.com/b\n${uids.blank},https://example.com/b\n`,
    )
    const ran = await here.run('chips', 'edit', '--file', 'b.csv', '--json', '--failed', 'again.csv')
    expect(ran.code).toBe(3)
    expect(ran.lines()).toMatchObject([
      { row: 1, status: 'failed', error: expect.stringContaining('no such chip') },
      { row: 2, status: 'changed' },
    ])
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8')).toMatch(
      /^uid,redirectUrl,error\n04:00:00:00:00:00:11,https:\/\/example.com\/b,"?Your team has no such chip[^\n]*\n$/,
    )
    expect((await here.run('chips', 'edit', '--file', 'again.csv')).code).toBe(3)
  })

  test('the file of failed rows has the columns and headings of the sheet, and can be fed back', async () => {
    const unknown = '04000000000012'
    const sheet = `Who;TagID;Note;Where\nAna;${unknown};"a;b";https://example.com/own\nBob;${uids.blank};;https://example.com/own\n`
    file('d.csv', sheet)
    const flags = ['--map', 'uid=TagID', '--map', 'redirectUrl=Where', '--ignore-columns', 'Who,Note']
    const edit = (input: string) =>
      here.run('chips', 'edit', '--file', input, ...flags, '--failed', 'again.csv', '--yes')
    const expected =
      /^Who;TagID;Note;Where;error\nAna;04:00:00:00:00:00:12;"a;b";https:\/\/example.com\/own;"?Your team has no such chip[^\n]*\n$/
    const again = () => readFileSync(join(here.home, 'again.csv'), 'utf8')
    expect([(await edit('d.csv')).code, again()]).toEqual([3, expect.stringMatching(expected)])
    // Its column of reasons is neither refused nor doubled.
    renameSync(join(here.home, 'again.csv'), join(here.home, 'second.csv'))
    expect([(await edit('second.csv')).code, again()]).toEqual([3, expect.stringMatching(expected)])
    file('d.json', JSON.stringify([{ TagID: unknown, Where: null, Who: 'Ana', Note: 7 }]))
    expect([(await edit('d.json')).code, again()]).toEqual([
      3,
      expect.stringMatching(/^TagID,Where,Who,Note,error\n04:00:00:00:00:00:12,,Ana,7,"?Your team has/),
    ])
    await here.run('chips', 'edit', '--uid', uids.blank, '--redirect-url', 'https://example.com/a')
  })

  test.each([
    ['itself', () => undefined, 'own.csv'],
    ['a path with dots', () => undefined, './x/../own.csv'],
    ['a symbolic link', () => symlinkSync(path('own.csv'), path('link.csv')), 'link.csv'],
    ['a hard link', () => linkSync(path('own.csv'), path('hard.csv')), 'hard.csv'],
  ])('--failed is not written onto the input: %s', async (_, make, failed) => {
    const sheet = `uid,redirectUrl\n04000000000011,https://example.com/b\n`
    const before = await batches()
    file('own.csv', sheet)
    make()
    for (const command of [
      ['chips', 'edit'],
      ['chips', 'import', '--chip-group', 'G', '--key-set', '101', '--team', 'Acme'],
    ]) {
      const ran = await here.run(...command, '--file', 'own.csv', '--failed', failed)
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('is the input itself')])
    }
    expect(readFileSync(path('own.csv'), 'utf8')).toBe(sheet)
    expect(await batches()).toEqual(before)
  })

  test('--failed leaves no file where nothing failed, and an older one whole where the sheet is refused', async () => {
    file('old.csv', 'mine\n')
    file('bad.csv', 'uid,redirectUrl\nnothing,https://example.com/b\n')
    expect((await here.run('chips', 'edit', '--file', 'bad.csv', '--failed', 'old.csv')).code).toBe(2)
    expect(readFileSync(path('old.csv'), 'utf8')).toBe('mine\n')
    expect((await here.run('chips', 'edit', '--file', 'bad.csv', '--failed', 'new.csv')).code).toBe(2)
    expect(existsSync(path('new.csv'))).toBe(false)
  })

  test('a long dry run shows people its first rows and the counts, and programs every row', async () => {
    const rows = Array.from(
      { length: 150 },
      (_, n) => `0400000000${(1000 + n).toString(16).padStart(4, '0')}`,
    )
    file('long.csv', `uid,redirectUrl\n${rows.map((uid) => `${uid},https://example.com/`).join('\n')}\n`)
    const ran = await here.run('chips', 'edit', '--file', 'long.csv', '--dry-run')
    expect(ran.stdout.trimEnd().split('\n')).toHaveLength(100)
    expect(ran.stderr).toContain('… and 50 more rows. See all of them: --json')
    expect(ran.stderr).toContain('150 would fail')
    const all = await here.run('chips', 'edit', '--file', 'long.csv', '--dry-run', '--json')
    expect(all.lines()).toHaveLength(150)
  })

  test('a dry run shows the difference and writes nothing', async () => {
    const [before, begun] = [await redirectOf(uids.blank), await batches()]
    file('c.csv', `uid,redirectUrl\n${uids.blank},https://example.com/c\n`)
    const ran = await here.run('chips', 'edit', '--file', 'c.csv', '--dry-run')
    expect(ran.stdout).toContain(`${String(before)} → https://example.com/c`)
    expect(ran.stderr).toContain('Nothing was written')
    file('banned.csv', `uid,redirectUrl\n${uids.blank},ftp://example.com/c\n`)
    const banned = await here.run('chips', 'edit', '--file', 'banned.csv', '--dry-run')
    expect([banned.code, banned.stderr.match(/Nothing was/g)]).toEqual([2, ['Nothing was']])
    expect(await redirectOf(uids.blank)).toBe(before)
    expect(await batches()).toEqual(begun)
  })
})

describe('one chip, and a whole group', () => {
  test('a UID without its flag is refused with the flag', async () => {
    const ran = await here.run('chips', 'edit', '04:DE:5F', '--clear')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('For one chip: --uid 04:DE:5F.')])
  })

  test('one chip by flags', async () => {
    const ran = await here.run(
      'chips',
      'edit',
      '--uid',
      uids.plain,
      '--redirect-url',
      'https://example.com/one',
      '--json',
    )
    expect(ran.lines()).toEqual([{ row: 1, uid: decimal(uids.plain), status: 'changed', previous: null }])
    const cleared = await here.run('chips', 'edit', '--uid', uids.plain, '--clear')
    expect(cleared.stdout).toContain('https://example.com/one → -')
    expect((await here.run('chips', 'edit', '--uid', '04000000000011', '--clear')).code).toBe(1)
  })

  test('a group, which can be taken back', async () => {
    const asked = await here.run(
      'chips',
      'edit',
      '--chip-group',
      'Prints',
      '--redirect-url',
      'https://example.com/g',
    )
    expect(asked.code).toBe(2)
    expect(asked.stderr).toContain('--yes')
    const ran = await here.run(
      'chips',
      'edit',
      '--chip-group',
      'Prints',
      '--redirect-url',
      'https://example.com/g',
      '--yes',
    )
    expect(ran.code).toBe(0)
    expect(await redirectOf(uids.listed)).toBe('https://example.com/g')
    expect((await here.run('batch', 'undo', batchId(ran.stderr), '--yes')).code).toBe(0)
    expect(await redirectOf(uids.listed)).toBe(null)
  })
})

test('a group of more chips than one request takes', async () => {
  const uids = Array.from({ length: 3001 }, (_, at) => String(1_260_000_000_000_000 + at))
  const imported = await fetch(
    `${daemon.url}/admin/chips/import?team=Acme&chipGroup=Large&keySet=101&report=failures`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.adminToken}`, 'content-type': 'text/csv' },
      body: `uid\n${uids.join('\n')}\n`,
    },
  )
  expect((await imported.text()).trim()).toBe('{"created":3001,"unchanged":0,"failed":0}')
  // A request takes 4 MB.
  const url = `https://example.com/${'large'.repeat(300)}`
  const ran = await here.run('chips', 'edit', '--chip-group', 'Large', '--redirect-url', url, '--yes')
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('3,001 changed')])
  const { json } = await here.run('chips', 'list', '--chip-group', 'Large', '--json')
  expect(new Set((json() as { redirectUrl: string }[]).map(({ redirectUrl }) => redirectUrl))).toEqual(
    new Set([url]),
  )
})

describe('batches', () => {
  test('undo puts back what was there, and leaves alone what was changed since', async () => {
    const before = await redirectsNow()
    file(
      'd.csv',
      `uid,redirectUrl\n${uids.jacket},https://example.com/d\n${uids.blank},https://example.com/d\n`,
    )
    const id = batchId((await here.run('chips', 'edit', '--file', 'd.csv')).stderr)
    await here.run('chips', 'edit', '--uid', uids.blank, '--redirect-url', 'https://example.com/since')
    const undone = await here.run('batch', 'undo', id, '--yes', '--json')
    expect(undone.code).toBe(3)
    expect(undone.lines()).toMatchObject([
      { row: 1, status: 'changed', previous: 'https://example.com/d' },
      { row: 2, status: 'conflict', error: expect.stringContaining('was changed') },
    ])
    expect(await redirectOf(uids.jacket)).toBe(before.get(decimal(uids.jacket)))
    expect(await redirectOf(uids.blank)).toBe('https://example.com/since')
  })

  test('are listed, shown and reported, and leave nothing on this machine', async () => {
    file('e.csv', `uid,redirectUrl\n${uids.blank},https://example.com/e\n04000000000011,\n`)
    const id = batchId((await here.run('chips', 'edit', '--file', 'e.csv')).stderr)
    const [listed] = (await here.run('batch', 'list', '--json')).json() as unknown[]
    expect(listed).toMatchObject({
      id,
      kind: 'chips edit',
      state: 'done',
      total: 2,
      changed: 1,
      unchanged: 0,
      failed: 1,
    })
    expect((await here.run('batch', 'status', id, '--json')).json()).toMatchObject({ id, state: 'done' })
    expect((await here.run('batch', 'report', id, '--json')).lines()).toMatchObject([
      { row: 1, status: 'changed' },
      { row: 2, status: 'failed' },
    ])
    expect((await here.run('batch', 'resume', id)).stderr).toContain('Nothing to do')
    expect((await here.run('batch', 'status', 'b_nothere')).code).toBe(2)
    expect(existsSync(join(here.home, '.local/state/tapchip/batches'))).toBe(false)
  })
})
