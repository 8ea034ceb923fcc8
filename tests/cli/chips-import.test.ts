import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { haloChip } from '../support/halo.ts'
import { listedKey, seed, uids } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})
const load = (content: string, ...flags: string[]) => {
  writeFileSync(join(here.home, 'chips.csv'), content)
  return here.run('chips', 'import', '--file', 'chips.csv', '--key-set', '101', ...flags)
}
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''
const write = (name: string, content: string) => writeFileSync(join(here.home, name), content)
const importFile = (...flags: string[]) =>
  here.run('chips', 'import', '--file', 'a.csv', '--chip-group', 'G', '--key-set', '101', ...flags)

describe('chips import', () => {
  test('registers chips with what they carry, a line a row, and makes the group', async () => {
    const ran = await load(
      `uid,label,redirectUrl,item,variant,lastCounter\n04:11:00:00:00:00:01,A 1,https://example.com/,jacket,s,7\n04110000000002,"=1+1, really",,,,\n`,
      '--chip-group',
      'New ones',
      '--json',
    )
    expect(ran.stderr).toMatch(/^At http:\S+ \(TAPCHIP_URL\)[^\n]*\nBatch b_/)
    expect(ran.lines()).toMatchObject([
      { row: 1, uid: '1144591604514817', status: 'created' },
      { row: 2, status: 'created' },
    ])
    expect(ran.code).toBe(0)
    const shown = (await here.run('chips', 'show', '04110000000001', '--json')).json()
    expect(shown).toMatchObject({
      label: 'A 1',
      redirectUrl: 'https://example.com/',
      item: { id: 'jacket', variant: 's' },
      lastCounter: 7,
      keySet: 101,
      chipGroup: { name: 'New ones' },
    })
    expect((await here.run('chip-groups', 'list', '--team', 'Acme')).stdout).toMatch(/New ones\t2\t/)
  })

  test('takes HaLo chips by their public keys alone, as an apply does, at the command and at the daemon', async () => {
    const keys = ['a', 'b', 'c', 'd'].map((name) => haloChip(name).pk2)
    write('keys.csv', `publicKey\n${keys.slice(0, 2).join('\n')}\n`)
    const imported = await here.run(
      'chips',
      'import',
      '--file',
      'keys.csv',
      '--chip-group',
      'Halos',
      '--json',
    )
    expect([imported.code, imported.lines()]).toMatchObject([
      0,
      [{ status: 'created' }, { status: 'created' }],
    ])
    const again = await here.run('chips', 'apply', '--file', 'keys.csv', '--json')
    expect([again.code, again.lines()]).toMatchObject([0, [{ status: 'unchanged' }, { status: 'unchanged' }]])
    const posted = await fetch(`${here.env.TAPCHIP_URL}/admin/chips/import?chipGroup=Halos&team=Acme`, {
      method: 'POST',
      headers: {
        'content-type': 'text/csv',
        authorization: `Bearer ${here.env.TAPCHIP_ADMIN_TOKEN}`,
      },
      body: `publicKey\n${keys.slice(2).join('\n')}\n`,
    })
    const rows = (await posted.text()).trim().split('\n')
    expect(rows.map((row) => JSON.parse(row))).toMatchObject([{ status: 'created' }, { status: 'created' }])
    write('keys.csv', `publicKey\n04${'0'.repeat(10)}\n`)
    const bad = await here.run('chips', 'apply', '--file', 'keys.csv')
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('row 1, publicKey: ')])
  })

  test('creates nothing twice, and a row that the daemon refuses fails alone', async () => {
    const sheet = `uid,item\n04110000000011,\n04110000000012,no-such-item\n`
    const ran = await load(sheet, '--chip-group', 'G')
    expect(ran.code).toBe(3)
    expect(ran.stdout).toBe('')
    expect(ran.stderr).toMatch(/^row 2 {2}.* failed {2}.*no-such-item/m)
    expect(ran.stderr).toContain('1 chip created, 0 unchanged, 1 failed')
    const again = await load(sheet, '--chip-group', 'G', '--json')
    expect(again.lines()).toMatchObject([{ status: 'unchanged' }, { status: 'failed' }])
    const [listed] = (await here.run('batch', 'list', '--json')).json() as unknown[]
    expect(listed).toMatchObject({
      kind: 'chips import',
      state: 'done',
      total: 2,
      changed: 0,
      unchanged: 1,
      failed: 1,
    })
    const report = await here.run('batch', 'report', batchId(ran.stderr), '--failed', '--json')
    expect(report.lines()).toMatchObject([{ row: 2, status: 'failed' }])
  })

  test('a dry run writes nothing', async () => {
    const begun = await here.json('batch', 'list')
    const ran = await load('uid\n04110000000021\n', '--chip-group', 'Nowhere', '--dry-run')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('1 chip would be created')])
    expect((await here.run('chip-groups', 'list')).stdout).not.toContain('Nowhere')
    expect(await here.json('batch', 'list')).toEqual(begun)
  })

  test('a group or key set that does not fit is the daemon’s to refuse, with 2', async () => {
    const begun = await here.json('batch', 'list')
    const ran = await here.run('chips', 'import', '--file', '-', '--chip-group', 'G', '--key-set', '999')
    expect(ran.code).toBe(2)
    here.stdin = 'uid\n04110000000031\n'
    const unknown = await here.run('chips', 'import', '--file', '-', '--chip-group', 'G', '--key-set', '999')
    expect([1, 2]).toContain(unknown.code)
    expect(unknown.stderr).toContain('999')
    expect(unknown.stderr).not.toContain('Batch b_')
    expect(await here.json('batch', 'list')).toEqual(begun)
  })

  test('rows that fail for one reason are told in one line, and the group that they leave empty is named', async () => {
    const sheet = `uid\n${Array.from({ length: 12 }, (_, i) => `041500000000${i + 10}`).join('\n')}\n`
    expect((await load(sheet, '--chip-group', 'Jackets 2026')).code).toBe(0)
    const ran = await load(sheet, '--chip-group', 'Jackets 2027')
    expect(ran.code).toBe(3)
    const why = 'The chip is registered in another chip group, "Jackets 2026". Name that group'
    expect(ran.stderr.split('\n').filter((line) => line.includes(why))).toEqual([
      expect.stringMatching(/^row 1 {2}.* {2}failed {2}The chip is/),
      expect.stringMatching(/^rows 1-12: The chip is/),
    ])
    expect(ran.stderr).toContain(
      `The chip group "Jackets 2027" was created, and is empty. Remove it: tapchip chip-groups remove 'Jackets 2027'`,
    )
    const full = await load(sheet, '--chip-group', 'Jackets 2026')
    expect([full.code, full.stderr]).toEqual([0, expect.not.stringContaining('is empty')])
  })

  test('keys of chips are imported, and shown nowhere', async () => {
    writeFileSync(join(here.home, 'listed.csv'), `uid,fileReadKey\n04110000000041,${listedKey}\n`)
    const ran = await here.run(
      'chips',
      'import',
      '--file',
      'listed.csv',
      '--chip-group',
      'L',
      '--key-set',
      '103',
    )
    expect(ran.code).toBe(0)
    const { stdout, stderr } = await here.run('batch', 'report', batchId(ran.stderr), '--json')
    expect((ran.stdout + ran.stderr + stdout + stderr).toLowerCase()).not.toContain(listedKey)
  })
})

describe('an import whose command was killed', () => {
  test('goes on without it, and is undone', async () => {
    const rows = Array.from({ length: 1500 }, (_, i) => `0412${(i + 1).toString(16).padStart(10, '0')}`)
    writeFileSync(join(here.home, 'big.csv'), `TagID,Remark\n${rows.map((uid) => `${uid},x`).join('\n')}\n`)
    const args = ['chips', 'import', '--file', 'big.csv', '--chip-group', 'Big', '--key-set', '101', '--json']
    // Slow enough that it is killed before its end, however late the first rows are noticed.
    const flags = ['--map', 'uid=TagID', '--ignore-columns', '--rate', '750']
    const running = spawnCli([...args, ...flags], here.env, here.home)
    await running.until((stdout) => stdout.includes('"created"'))
    running.child.kill('SIGKILL')
    await running.ended
    const id = batchId(running.stderr())
    expect(await here.json('batch', 'status', id)).toMatchObject({ state: 'running', total: 1500 })
    const followed = await here.run('batch', 'follow', id)
    expect([followed.code, followed.stderr]).toEqual([
      0,
      expect.stringContaining('1,500 chips created, 0 unchanged, 0 failed.'),
    ])
    const listed = (await here.run('chips', 'list', '--chip-group', 'Big', '--json')).json() as unknown[]
    expect(listed.length).toBe(1500)

    const undone = await here.run('batch', 'undo', id, '--yes')
    expect([undone.code, undone.stderr]).toEqual([0, expect.stringContaining('1,500 removed, 0 unchanged')])
    expect((await here.run('chips', 'list', '--chip-group', 'Big', '--json')).json()).toEqual([])
  })
})

describe('an import that is undone', () => {
  test('what has happened to a chip since keeps it, and the report says why', async () => {
    const uidOf = (n: number) => `0415000000000${n}`
    const rows = Array.from({ length: 6 }, (_, n) => `${uidOf(n + 1)},L ${n + 1}`)
    write('old.csv', `uid,label\n${rows[0]}\n`)
    await here.run('chips', 'import', '--file', 'old.csv', '--chip-group', 'Undo', '--key-set', '101')
    write('a.csv', `uid,label\n${rows.join('\n')}\n`)
    const flags = ['--chip-group', 'Undo', '--key-set', '101']
    const ran = await here.run('chips', 'import', '--file', 'a.csv', ...flags)
    const id = batchId(ran.stderr)
    expect(ran.stderr).toContain(`5 chips created, 1 unchanged, 0 failed. Undo it: tapchip batch undo ${id}`)
    const report = (await here.run('batch', 'report', id, '--json')).lines()
    expect(report.map((line) => (line as { status: string }).status)).toEqual([
      'unchanged',
      ...Array(5).fill('created'),
    ])
    await here.run('chips', 'edit', '--uid', uidOf(2), '--redirect-url', 'https://example.com/')
    await here.run('chips', 'disable', uidOf(3), '--yes')
    await here.run('chips', 'enable', uidOf(3), '--yes')
    await here.run('chips', 'remove', uidOf(4), '--yes')
    const dry = await here.run('batch', 'undo', id, '--yes', '--dry-run')
    expect([dry.code, dry.stderr]).toEqual([
      3,
      expect.stringContaining('2 chips would be removed, 1 unchanged, 2 would fail'),
    ])
    // The question counts what will really be removed.
    const asked = await here.run('batch', 'undo', id)
    expect([asked.code, asked.stderr]).toEqual([
      2,
      expect.stringContaining(
        'Remove 2 chips? 3 other rows stay as they are: --dry-run says why. Confirm with --yes\n',
      ),
    ])
    const undone = await here.run('batch', 'undo', id, '--yes', '--json')
    expect(undone.code).toBe(3)
    expect(undone.lines()).toMatchObject([
      { row: 2, status: 'failed', error: expect.stringContaining('was changed since the import') },
      { row: 3, status: 'failed', error: expect.stringContaining('was changed since the import') },
      { row: 4, status: 'unchanged' },
      { row: 5, status: 'removed' },
      { row: 6, status: 'removed' },
    ])
    const left = (await here.run('chips', 'list', '--chip-group', 'Undo', '--json')).json() as unknown[]
    expect(left).toHaveLength(3)
    const again = batchId(undone.stderr)
    expect((await here.run('batch', 'report', again, '--json')).lines()).toHaveLength(5)
    const twice = await here.run('batch', 'undo', again, '--yes')
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('tapchip chips import')])
    // The labels are free again.
    expect((await here.run('chips', 'import', '--file', 'a.csv', ...flags)).stderr).toContain(
      '3 chips created',
    )
  })
})

describe('chips export', () => {
  test('writes CSV that a spreadsheet leaves alone, and that an import reads back as it was', async () => {
    here.stdin = ['=cmd()', "'+x", 'plain']
      .map((label, i) => `${JSON.stringify({ uid: `0413000000000${i + 1}`, label })}\n`)
      .join('')
    await here.run('chips', 'import', '--file', '-', '--chip-group', 'Round', '--key-set', '101')
    const out = await here.run('chips', 'export', '--chip-group', 'Round', '--file', 'out.csv')
    expect([out.code, out.stdout]).toEqual([0, ''])
    const csv = readFileSync(join(here.home, 'out.csv'), 'utf8')
    expect(csv).toContain('04:13:00:00:00:00:01')
    expect(csv).toContain("'=cmd()")
    const before = (await here.run('chips', 'export', '--chip-group', 'Round', '--json')).lines()
    expect(before).toMatchObject([{ label: '=cmd()' }, { label: "'+x" }, { label: 'plain' }])
    const again = await here.run(
      ...['chips', 'import', '--file', 'out.csv', '--chip-group', 'Round', '--key-set', '101', '--json'],
      ...['--ignore-columns', 'chipGroup,keySet'],
    )
    expect(again.lines()).toMatchObject([
      { status: 'unchanged' },
      { status: 'unchanged' },
      { status: 'unchanged' },
    ])
  })

  test('steers no terminal, neither as CSV nor as JSON; elsewhere it is as it was', async () => {
    const labels = ['a\x1b[2J', 'b\x9b31m', 'c\u202egnp.exe', '＝cmd()']
    here.stdin = labels
      .map((label, i) => `${JSON.stringify({ uid: `0413000000000${i + 5}`, label })}\n`)
      .join('')
    await here.run('chips', 'import', '--file', '-', '--chip-group', 'Evil', '--key-set', '101')
    const exported = (...args: string[]) => here.run('chips', 'export', '--chip-group', 'Evil', ...args)
    const asCsv = await exported()
    for (const label of labels.slice(0, 3)) expect(asCsv.stdout).toContain(`,${label},`)
    expect(asCsv.stdout).toContain(",'＝cmd(),")
    const asJson = await exported('--json')
    expect(asJson.lines()).toMatchObject(labels.map((label) => ({ label })))
    here.printsOnTerminal = true
    const onTerminal = await exported()
    for (const text of [asJson.stdout, onTerminal.stdout]) {
      expect(text).toMatch(/a\\u001b\[2J.*b\\u009b31m.*c\\u202egnp\.exe/s)
      expect(text).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
    }
  })

  test('of a group that is not there leaves no file behind', async () => {
    const out = await here.run('chips', 'export', '--chip-group', 'Nope', '--file', 'none.csv')
    expect(out.code).toBe(1)
    expect(readdirSync(here.home)).not.toContain('none.csv')
  })

  test('to standard output holds every chip', async () => {
    const { stdout } = await here.run('chips', 'export')
    expect(stdout.split('\n')[0]).toBe(
      'uid,chipGroup,keySet,label,redirectUrl,item,variant,contractAddress,chainId,tokenId,disabled,lastCounter,publicKey,revision',
    )
    expect(stdout).toContain((uids.jacket.match(/../g) ?? []).join(':'))
  })
})

describe('a sheet as an encoding house delivers it', () => {
  const rows = Array.from(
    { length: 300 },
    (_, i) => `${i + 1};04:22:00:00:00:${Math.floor(i / 100)}0:${10 + (i % 90)};R1`,
  )

  test('is refused in lines that a person reads, with the flags that mend it', async () => {
    write('a.csv', `\uFEFFNo.;TagID;Roll no\r\n${rows.join('\r\n')}\r\n`)
    const ran = await importFile()
    expect([ran.code, ran.stderr.trimEnd().split('\n')]).toEqual([
      2,
      [
        'column "uid" is missing; if it is "TagID": --map uid=TagID',
        expect.stringMatching(
          /^unknown columns "No\.", "Roll no"; to ignore them: --ignore-columns 'No\.,Roll no' \(known/,
        ),
        'a.csv was refused. Nothing was written.',
      ],
    ])
  })

  test('names rows that are alike in one line, every one of them', async () => {
    const uid = (i: number) => (i % 3 === 0 || i < 20 ? '1.29E+15' : `042200000${1000 + i}0`)
    write('a.csv', `uid\n${Array.from({ length: 40 }, (_, i) => uid(i + 1)).join('\n')}\n`)
    const ran = await importFile()
    expect(ran.stderr).toMatch(/^rows 1-19, 21, 24, 27, 30, 33, 36, 39, uid: must not be in scientific/m)
    expect(ran.stderr).toContain('(the first: "1.29E+15")')
    expect(ran.stderr.trimEnd().split('\n')).toHaveLength(2)
  })
})

describe('chips import', () => {
  test('writes the rows that failed as a sheet that can be fed back, its owner alone reading it', async () => {
    write(
      'a.csv',
      'label,uid,item\n"=one, really",04230000000001,nope\nb,04230000000002,\nc,04230000000003,nope\n',
    )
    const ran = await importFile('--failed', 'again.csv')
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('again.csv')])
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8')).toMatch(
      /^label,uid,item,error\n"'=one, really",04:23:00:00:00:00:01,nope,[^\n]*item[^\n]*\nc,04:23:00:00:00:00:03,nope,[^\n]*item[^\n]*\n$/,
    )
    expect(statSync(join(here.home, 'again.csv')).mode & 0o777).toBe(0o600)
    expect(
      (await here.run('chips', 'import', '--file', 'again.csv', '--chip-group', 'G', '--key-set', '101'))
        .code,
    ).toBe(3)
    write('a.csv', 'uid\n04230000000004\n')
    expect((await importFile('--failed', 'none.csv')).code).toBe(0)
    expect(existsSync(join(here.home, 'none.csv'))).toBe(false)
  })
})

// Last, since its chips stay.
test('SIGINT ends an import with 130, and it goes on later', async () => {
  const rows = Array.from({ length: 2000 }, (_, i) => `0414${(i + 1).toString(16).padStart(10, '0')}`)
  writeFileSync(join(here.home, 'big.csv'), `uid\n${rows.join('\n')}\n`)
  const args = ['chips', 'import', '--file', 'big.csv', '--chip-group', 'Cut', '--key-set', '101', '--json']
  // Slow enough that it is interrupted before its end.
  const ran = await here.interruptedRun((stdout) => stdout.includes('"created"'), ...args, '--rate', '500')
  expect([ran.code, ran.stderr]).toEqual([130, expect.stringContaining('tapchip batch resume b_')])
  expect((await here.run('batch', 'resume', batchId(ran.stderr), '--rate', '1000000')).code).toBe(0)
  expect((await here.run('chips', 'list', '--chip-group', 'Cut', '--json')).json()).toHaveLength(2000)
})
