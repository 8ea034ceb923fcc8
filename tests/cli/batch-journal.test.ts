import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { bin, run } from '../support/process.ts'
import { acmeKey, derived } from '../support/seeds.ts'

const uids = ['04000000000001', '04000000000002', '04000000000003', '04000000000004']
const chips = uids.map((uid) => ({ uid, keySet: 101 }))
const seed = {
  version: 1,
  keySets: [derived],
  teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }], chipGroups: [{ name: 'All', chips }] }],
}
let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})

const folder = () => join(here.home, '.local/state/tapchip/batches')
const pathOf = (id: string) => join(folder(), `${id}.jsonl`)
/** A batch that has changed all four chips. */
const done = async (): Promise<string> => {
  const rows = uids.map((uid) => `${uid},https://example.com/${Math.random()}`)
  writeFileSync(join(here.home, 'a.csv'), `uid,redirectUrl\n${rows.join('\n')}\n`)
  const ran = await here.run('chips', 'edit', '--file', 'a.csv')
  expect(ran.code).toBe(0)
  return /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
}
const redirects = async () =>
  (
    (await here.run('chips', 'list', '--chip-group', 'All', '--json')).json() as {
      redirectUrl: string | null
    }[]
  ).map(({ redirectUrl }) => redirectUrl)
const linesOf = (id: string) => readFileSync(pathOf(id), 'utf8').split('\n')
const rewrite = (id: string, change: (lines: string[]) => string[] | string) => {
  const changed = change(linesOf(id))
  writeFileSync(pathOf(id), typeof changed === 'string' ? changed : changed.join('\n'))
}
const isAbout = (type: string, uid: string) => (line: string) =>
  line.includes(`"type":"${type}"`) && line.includes(`"${BigInt(`0x${uid}`)}"`)
/** The line that says of the second chip what it had before. */
const second = isAbout('result', uids[1] ?? '')

const garbled = (lines: string[]) => lines.map((line) => (second(line) ? `#${line.slice(1)}` : line))
const damages: [string, (lines: string[]) => string[] | string, RegExp][] = [
  ['a line of garbage', garbled, /is damaged: 1 line is invalid \(\d+\)/],
  [
    'a line cut short in the middle',
    (lines) => lines.map((line) => (second(line) ? line.slice(0, 30) : line)),
    /is damaged: 1 line/,
  ],
  ['a line of garbage at its end', (lines) => [...lines.slice(0, -1), 'garbage', ''], /is damaged: 1 line/],
  ['an end of zeros', (lines) => `${lines.join('\n')}${'\0'.repeat(300)}`, /is damaged: 1 line/],
  [
    'a line that no version writes',
    (lines) => lines.map((line) => (second(line) ? '{"type":"outcome","row":"two"}' : line)),
    /is damaged/,
  ],
  [
    'a row twice',
    (lines) => lines.flatMap((line) => (isAbout('row', uids[2] ?? '')(line) ? [line, line] : [line])),
    /is damaged: 1 line is invalid/,
  ],
  [
    'nothing in it',
    () => '',
    /records nothing: the batch was stopped before its first row was sent, or the file/,
  ],
  [
    'a row taken out',
    (lines) => lines.filter((line) => !isAbout('row', uids[2] ?? '')(line)),
    /is damaged: 1 row of the batch is missing/,
  ],
  [
    'the number of a row garbled',
    (lines) =>
      lines.map((line) =>
        isAbout('row', uids[2] ?? '')(line) ? line.replace(/"row":\d+/, '"row":99') : line,
      ),
    /is damaged: 1 row of the batch is missing/,
  ],
  [
    'rubbish alone',
    () => Buffer.from(Array.from({ length: 5000 }, (_, n) => (n * 89) % 256)).toString('latin1'),
    /its first line cannot be read/,
  ],
  ['rubbish alone, in one line', () => '\u0001\u0002rubbish', /its first line cannot be read/],
  [
    'its first line garbled',
    ([first = '', ...rest]) => [first.slice(5), ...rest],
    /its first line cannot be read/,
  ],
  [
    'another version',
    ([first = '', ...rest]) => [first.replace('"version":2', '"version":1'), ...rest],
    /started by another version of tapchip/,
  ],
]

describe('a damaged journal', () => {
  test.each(damages)('with %s is refused in words, and nothing is sent', async (_what, damage, words) => {
    const id = await done()
    rewrite(id, damage)
    const [before, journal] = [await redirects(), readFileSync(pathOf(id))]
    for (const verb of ['undo', 'resume', 'report', 'status']) {
      const refused = await here.run(
        'batch',
        verb,
        id,
        ...(verb === 'report' || verb === 'status' ? [] : ['--yes']),
      )
      expect([verb, refused.code, refused.stdout, refused.stderr]).toEqual([
        verb,
        1,
        '',
        expect.stringMatching(words),
      ])
      expect(refused.stderr).toContain(pathOf(id))
      expect(refused.stderr).toMatch(/backup|version/)
      expect(refused.stderr).not.toMatch(/^ {4}at /m)
    }
    expect(await redirects()).toEqual(before)
    expect(readFileSync(pathOf(id))).toEqual(journal)
  })

  test.each([
    // It was on its way, so what the check saw before is put back.
    ['of a result', 'result', 4],
    ['of a row', 'row', 3],
  ])(
    'without a line %s is taken back as far as it can be read when that is asked for, and never with exit code 0',
    async (_what, type, count) => {
      const before = await redirects()
      const id = await done()
      const changed = await redirects()
      const isLost = isAbout(type, uids[1] ?? '')
      rewrite(id, (lines) => lines.map((line) => (isLost(line) ? `#${line.slice(1)}` : line)))
      const reported = await here.run('batch', 'report', id, '--skip-damaged', '--json')
      expect([reported.code, reported.lines()]).toEqual([3, expect.any(Array)])
      expect(reported.lines()).toHaveLength(count)
      const undone = await here.run('batch', 'undo', id, '--skip-damaged', '--yes', '--json')
      expect([undone.code, undone.lines()]).toEqual([
        3,
        Array(count).fill(expect.objectContaining({ status: 'changed' })),
      ])
      expect(undone.stderr).toMatch(/is damaged.*left out/)
      const expected = before.map((url, at) => (count === 3 && at === 1 ? changed[at] : url))
      expect(await redirects()).toEqual(expected)
    },
  )

  test('hides no other from the list, which names it', async () => {
    const [good, bad] = [await done(), await done()]
    rewrite(bad, () => 'rubbish\n')
    for (const stands of [() => {}, () => mkdirSync(pathOf(bad))]) {
      stands()
      const listed = await here.run('batch', 'list', '--json')
      expect(listed.code).toBe(1)
      expect((listed.json() as { id: string }[]).map(({ id }) => id)).toEqual([good])
      expect(listed.stderr).toContain(pathOf(bad))
      rmSync(pathOf(bad), { recursive: true })
    }
  })

  test('that a person may not read is named', async () => {
    const id = await done()
    rmSync(pathOf(id))
    mkdirSync(pathOf(id))
    const refused = await here.run('batch', 'report', id)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('it is a directory')])
  })
})

describe('what a kill leaves', () => {
  test.each([
    ['nothing', () => ''],
    ['half of the first line', ([first = '']: string[]) => first.slice(0, 40)],
  ])('of a batch that sent nothing, %s, is said to be so', async (_what, damage) => {
    const id = await done()
    rewrite(id, damage)
    const refused = await here.run('batch', 'resume', id)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('stopped before its first row was sent'),
    ])
  })

  test('in the middle of its last line is no damage, also after it went on', async () => {
    const id = await done()
    const before = await redirects()
    rewrite(id, (lines) => {
      const cut = lines.findIndex(isAbout('result', uids[3] ?? ''))
      return `${lines.slice(0, cut).join('\n')}\n${lines[cut]?.slice(0, 25)}`
    })
    expect((await here.run('batch', 'status', id)).code).toBe(0)
    expect((await here.run('batch', 'resume', id, '--yes')).code).toBe(0)
    expect(await redirects()).toEqual(before)
    const undone = await here.run('batch', 'undo', id, '--yes', '--json')
    expect(undone.code).toBe(0)
    expect(undone.lines()).toHaveLength(4)
  })
})

test('a disk that becomes full under the journal stops the batch in words, and it goes on later', async () => {
  const file = join(here.home, 'many.csv')
  const set = (n: number) =>
    writeFileSync(
      file,
      `uid,redirectUrl\n${uids.map((uid) => `${uid},https://example.com/${n}${'x'.repeat(900)}`).join('\n')}\n`,
    )
  set(1)
  const ran = await run('tapchip', ['chips', 'edit', '--file', file], here.env)
  expect(ran.code).toBe(0)
  set(2)
  const [first = ''] = /b_[0-9a-z]{14}/.exec(ran.stderr) ?? []
  const rows = linesOf(first)
    .filter((line) => /"type":"(batch|row)"/.test(line))
    .join('\n').length
  // Room for the rows, with what was there before, and for no result.
  const most = `--fsize=${rows + 4 * 1000}`
  const stopped = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    const args = [most, process.execPath, bin('tapchip'), 'chips', 'edit', '--file', file]
    execFile('prlimit', args, { env: { PATH: process.env.PATH, ...here.env } }, (error, _stdout, stderr) =>
      resolve({ code: error?.code, stderr }),
    )
  })
  expect(stopped.code).toBe(1)
  expect(stopped.stderr).toMatch(/cannot be written: the disk is full/)
  expect(stopped.stderr).not.toMatch(/^ {4}at |EFBIG/m)
  const [id = ''] = /b_[0-9a-z]{14}/.exec(stopped.stderr) ?? []
  expect(existsSync(pathOf(id))).toBe(true)
  expect(stopped.stderr).toContain(`${pathOf(id)} cannot be written`)
  expect(stopped.stderr).toContain(`XDG_STATE_HOME=DIR tapchip batch resume ${id}`)
  here.env.XDG_STATE_HOME = join(here.home, 'other')
  expect((await here.run('batch', 'resume', id)).code).toBe(0)
  expect((await redirects()).every((url) => url?.startsWith('https://example.com/2'))).toBe(true)
})

describe('the journal of a batch that is done', () => {
  /** Done long ago, and large enough to be worth it. */
  const old = async (days: number): Promise<string> => {
    const id = await done()
    rewrite(id, (lines) => [...lines.slice(0, -2), ' '.repeat(50_000), ...lines.slice(-2)])
    const at = Date.now() / 1000 - days * 86_400
    utimesSync(pathOf(id), at, at)
    return id
  }
  const archived = (id: string) => [existsSync(pathOf(id)), existsSync(`${pathOf(id)}.gz`)]

  test('is compressed when the next begins, and listed, reported, and taken back as before', async () => {
    const id = await old(1)
    const before = (await here.run('batch', 'list', '--json')).json()
    await done()
    await expect.poll(() => archived(id)).toEqual([false, true])
    expect(statSync(`${pathOf(id)}.gz`).size).toBeLessThan(5000)
    expect((await here.run('batch', 'list', '--json')).json()).toEqual([
      expect.anything(),
      ...[before].flat(),
    ])
    expect(archived(id)).toEqual([false, true])
    delete here.env.TAPCHIP_URL
    expect((await here.run('batch', 'report', id, '--json')).lines()).toHaveLength(4)
  })

  test('is removed in the end, and no other', async () => {
    const id = await old(91)
    const stopped = await old(91)
    rewrite(stopped, (lines) => lines.slice(0, -2))
    await done()
    await expect.poll(() => archived(id)).toEqual([false, true])
    utimesSync(`${pathOf(id)}.gz`, 1, 1)
    await done()
    await expect.poll(() => archived(id)).toEqual([false, false])
    expect(archived(stopped)).toEqual([true, false])
  })

  test('is removed with the daemon’s copy, archived or not', async () => {
    const [kept, first] = [await old(1), await old(1)]
    await done()
    await expect.poll(() => archived(first)).toEqual([false, true])
    const ids = async (...flags: string[]) =>
      ((await here.json('batch', 'list', ...flags)) as { id: string }[]).map(({ id }) => id)
    expect(await ids('--all')).toContain(first)
    const wouldSend = await here.run('batch', 'remove', first, '--dry-run')
    expect(wouldSend.stdout).toMatch(/^DELETE .*\/batches\/b_/)
    expect(await here.json('batch', 'remove', first)).toEqual({ success: true })
    expect(archived(first)).toEqual([false, false])
    for (const all of [await ids(), await ids('--all')]) {
      expect(all).not.toContain(first)
      expect(all).toContain(kept)
    }
    const again = await here.run('batch', 'remove', first, '--yes')
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`There is no batch "${first}"`)])
    delete here.env.TAPCHIP_URL
    delete here.env.TAPCHIP_API_KEY
    delete here.env.TAPCHIP_ADMIN_TOKEN
    expect((await here.run('batch', 'remove', kept, '--yes')).code).toBe(0)
    expect(archived(kept)).toEqual([false, false])
  })

  test('is removed first if all take too much', async () => {
    here.env.TAPCHIP_JOURNALS_MB = '0.002'
    const ids = [await old(3), await old(2)]
    await done()
    await expect
      .poll(() => ids.map(archived))
      .toEqual([
        [false, false],
        [false, true],
      ])
  })
})
