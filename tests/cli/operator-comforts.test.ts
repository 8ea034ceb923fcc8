import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { seed } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

const write = (name: string, content: string) => writeFileSync(join(here.home, name), content)
const load = (...flags: string[]) =>
  here.run('chips', 'import', '--file', 'a.csv', '--chip-group', 'G', '--key-set', '101', ...flags)

describe('a sheet as an encoding house delivers it', () => {
  const rows = Array.from(
    { length: 300 },
    (_, i) => `${i + 1};04:22:00:00:00:${Math.floor(i / 100)}0:${10 + (i % 90)};R1`,
  )

  test('is refused in lines that a person reads, with the flags that mend it', async () => {
    write('a.csv', `\uFEFFNo.;TagID;Roll no\r\n${rows.join('\r\n')}\r\n`)
    const ran = await load()
    expect([ran.code, ran.stderr.trimEnd().split('\n')]).toEqual([
      2,
      [
        'column "uid" is missing; if "TagID" is it: --map uid=TagID',
        expect.stringMatching(
          /^unknown columns "No\.", "Roll no"; to pass over them: --ignore-columns 'No\.,Roll no' \(known/,
        ),
        'a.csv is refused. Nothing was written.',
      ],
    ])
  })

  test('names rows that are alike in one line, every one of them', async () => {
    const uid = (i: number) => (i % 3 === 0 || i < 20 ? '1.29E+15' : `042200000${1000 + i}0`)
    write('a.csv', `uid\n${Array.from({ length: 40 }, (_, i) => uid(i + 1)).join('\n')}\n`)
    const ran = await load()
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
    const ran = await load('--failed', 'again.csv')
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('again.csv')])
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8')).toBe(
      `uid,label,item\n04:23:00:00:00:00:01,"'=one, really",nope\n04:23:00:00:00:00:03,c,nope\n`,
    )
    expect(statSync(join(here.home, 'again.csv')).mode & 0o777).toBe(0o600)
    expect(
      (await here.run('chips', 'import', '--file', 'again.csv', '--chip-group', 'G', '--key-set', '101'))
        .code,
    ).toBe(3)
    write('a.csv', 'uid\n04230000000004\n')
    expect((await load('--failed', 'none.csv')).code).toBe(0)
    expect(existsSync(join(here.home, 'none.csv'))).toBe(false)
  })
})

describe('--rate', () => {
  const uid = (i: number) => `0424000000${(i + 0x1000).toString(16)}`
  const many = Array.from({ length: 40 }, (_, i) => uid(i))
  const timed = async (...args: string[]) => {
    const started = performance.now()
    const ran = await here.run(...args)
    return { ...ran, seconds: (performance.now() - started) / 1000 }
  }

  test('spreads the rows of an import and of an edit over time, and leaves none out', async () => {
    write('a.csv', `uid,label\n${many.map((u, i) => `${u},"two\nlines ${i}"`).join('\n')}\n`)
    const made = await timed(
      'chips',
      'import',
      '--file',
      'a.csv',
      '--chip-group',
      'R',
      '--key-set',
      '101',
      '--rate',
      '80',
    )
    expect([made.code, made.stderr]).toEqual([
      0,
      expect.stringContaining('40 chips created, 0 unchanged, 0 failed'),
    ])
    expect(made.seconds).toBeGreaterThan(0.2)
    write('b.csv', `uid,redirectUrl\n${many.map((u) => `${u},https://example.com/`).join('\n')}\n`)
    const edited = await timed('chips', 'edit', '--file', 'b.csv', '--rate', '80', '--json')
    expect(edited.lines()).toHaveLength(40)
    expect(edited.seconds).toBeGreaterThan(0.2)
  })

  test('an interrupt does not wait for the next rows', async () => {
    write('b.csv', `uid,redirectUrl\n${many.map((u) => `${u},https://example.com/2`).join('\n')}\n`)
    let interruptedAt = 0
    const ran = await here.interruptedRun(
      (out) => {
        interruptedAt = performance.now()
        return out.includes('"row":1,')
      },
      'chips',
      'edit',
      '--file',
      'b.csv',
      '--rate',
      '1',
      '--json',
    )
    expect([ran.code, ran.stderr]).toEqual([130, expect.stringContaining('Stopped after 1 of 40')])
    expect(performance.now() - interruptedAt).toBeLessThan(900)
  })

  test('is a whole number', async () => {
    expect((await here.run('chips', 'edit', '--file', 'b.csv', '--rate', '0.5')).code).toBe(2)
  })
})

test('a time may be told from now on', async () => {
  expect((await here.run('audit', 'list', '--since', '1h', '--json')).stdout).toContain('teams.create')
  const ran = await here.run('taps', 'list', '--since', 'yesterday')
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--since must be a date (2026-12-31)')])
  expect((await here.run('taps', 'list', '--since', '2026-13-41')).code).toBe(2)
})

test('a table of changes counts what --json lists', async () => {
  const lines = Array.from({ length: 5 }, (_, i) => `0425000000000${i}`)
  write('a.csv', `uid\n${lines.join('\n')}\n`)
  await load()
  write('b.csv', `uid,redirectUrl\n${lines.map((uid) => `${uid},https://example.com/`).join('\n')}\n`)
  await here.run('chips', 'edit', '--file', 'b.csv')
  expect((await here.run('audit', 'list', '--limit', '1')).stdout).toContain('"rows":"5 entries"')
  expect((await here.run('audit', 'list', '--limit', '1', '--json')).stdout).toContain('"rows":[{"uid"')
})

test('login --status says which keys there are, whence, and whether they are good', async () => {
  const good = await here.run('login', '--status', '--json')
  expect([good.code, good.json()]).toEqual([
    0,
    {
      url: daemon.url,
      context: null,
      apiKey: 'good',
      apiKeyOrigin: 'TAPCHIP_API_KEY',
      adminToken: 'good',
      adminTokenOrigin: 'TAPCHIP_ADMIN_TOKEN',
    },
  ])
  here.env.TAPCHIP_API_KEY = 'svc_wrong'
  const bad = await here.run('login', '--status')
  expect([bad.code, bad.stdout]).toEqual([4, expect.stringContaining('refused, from TAPCHIP_API_KEY')])
  delete here.env.TAPCHIP_API_KEY
  delete here.env.TAPCHIP_ADMIN_TOKEN
  expect((await here.run('login', '--status')).code).toBe(4)
})

test('what comes next is said to people, and not to scripts', async () => {
  const said = await here.run('chip-groups', 'create', "Anna's", '--team', 'Acme')
  expect(said.stderr).toBe(
    `At ${daemon.url} (TAPCHIP_URL), team Acme\nFill it: tapchip chips import --file chips.csv --chip-group 'Anna'\\''s' --key-set ID\n`,
  )
  expect((await here.run('chip-groups', 'create', 'B', '--team', 'Acme', '--json')).stderr).toBe(
    `At ${daemon.url} (TAPCHIP_URL), team Acme\n`,
  )
  expect((await here.run('chip-groups', 'create', 'C', '--team', 'Acme', '--quiet')).stderr).toBe('')
})
