import { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { about } from '../../src/cli/commands/transactions/transaction.ts'
import { createIo, type IoFlags } from '../../src/cli/io/io.ts'
import { startProgress } from '../../src/cli/io/progress.ts'
import type { Output } from '../../src/cli/system.ts'

class Terminal extends Writable implements Output {
  text = ''
  readonly isTTY: boolean
  constructor(isTTY: boolean) {
    super()
    this.isTTY = isTTY
  }
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

test('what is said stands after what was printed before it, where both go to one place', async () => {
  const both = new Terminal(false)
  const io = createIo(
    { stdout: both, stderr: both, env: {}, now: () => new Date(0) },
    { json: false, quiet: false, color: false },
  )
  for (const say of [io.note, io.hint, io.warn]) {
    void io.line({}, () => 'row')
    say('sum')
  }
  await io.flush()
  expect(both.text).toBe('row\nsum\n'.repeat(3))
})

test('a line for people steers no terminal, whatever its data is', async () => {
  const both = new Terminal(true)
  const io = createIo(
    { stdout: both, stderr: both, env: {}, now: () => new Date(0) },
    { json: false, quiet: false, color: true },
  )
  void io.line({}, () => 'Evil\x1b]0;x\x07 reader\t\u202egnp.exe\x9b31m')
  await io.flush()
  expect(both.text).toBe('Evil\\u001b]0;x\\u0007 reader\t\\u202egnp.exe\\u009b31m\n')
})

test('nothing that is printed steers a terminal; a pipe gets text as it is, and JSON the same in escapes', async () => {
  const evil = 'a\x1b[2Jb\x7fc\x9b31m\u061c\u200e\u202e\u2066\rd'
  const escapes = 'a\\u001b[2Jb\\u007fc\\u009b31m\\u061c\\u200e\\u202e\\u2066\\u000dd'
  const printed = async (isTTY: boolean, flags: { json?: boolean; csv?: boolean; color?: boolean }) => {
    const both = new Terminal(isTTY)
    const io = createIo(
      { stdout: both, stderr: both, env: {}, now: () => new Date(0) },
      { json: false, quiet: false, color: false, ...flags },
    )
    void io.raw(`${flags.json ? JSON.stringify(evil) : evil}\n`)
    await io.one({ evil }, (row) => row)
    await io.line({ evil }, () => evil)
    await io.list([{ evil }], { EVIL: (row) => row.evil }, '')
    await io.list([], {}, flags.json ? '' : evil)
    await io.list(Readable.from([{ evil }]), { EVIL: (row) => row.evil }, '')
    void io.marked('red', 'x', evil)
    for (const say of [io.note, io.hint, io.warn]) say(evil)
    await io.flush()
    return both.text
  }
  const control = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
  for (const isTTY of [true, false])
    for (const flags of [{}, { csv: true }, { json: true }]) {
      const text = await printed(isTTY, flags)
      if (isTTY || flags.json) expect(text).not.toMatch(control)
      expect(text).toContain(escapes)
    }
  expect(await printed(false, {})).toContain(`${evil}\n`)
  expect(JSON.parse((await printed(false, { json: true })).split('\n')[1] ?? '')).toEqual({ evil })
})

const address = `0x1234${'5'.repeat(32)}abcd`
const hash = `0x9999${'8'.repeat(56)}7777`
const rows = [
  { about: `${address} #2 to ${address}`, hash, team: 'Acme' },
  { about: 'JKT', hash: null, team: 'Acme' },
]
const table = async (
  given: readonly object[],
  { isTTY = true, json = false, ...more }: { isTTY?: boolean; json?: boolean } & Partial<IoFlags> = {},
) => {
  const stdout = new Terminal(isTTY)
  const io = createIo(
    { stdout, stderr: new Terminal(false), env: {}, now: () => new Date(0) },
    { json, quiet: false, color: false, ...more },
  )
  const columns = Object.fromEntries(
    ['about', 'hash', 'team'].map((name) => [
      name.toUpperCase(),
      (row: object) => Object.entries(row).find(([key]) => key === name)?.[1],
    ]),
  )
  await io.list(given, columns, 'None.')
  return stdout.text
}

test('on a terminal hashes and addresses are shortened, and a team that is the only one is left out', async () => {
  expect(await table(rows)).toBe(
    [
      'ABOUT                          HASH',
      '0x1234…abcd #2 to 0x1234…abcd  0x9999…7777',
      'JKT                            -',
      '',
    ].join('\n'),
  )
  expect(await table([...rows, { about: 'ART', hash, team: 'Other' }])).toMatch(/^ABOUT +HASH +TEAM\n/)
})

test('columns stand under each other whatever the cells are written in, emoji among it', async () => {
  const names = ['🧥', '❤️', '✅', '👨‍👩‍👧', '🇩🇪', '日本', 'e\u0301', 'ab']
  const lines = (await table(names.map((about) => ({ about, hash: 'x', team: about }))))
    .split('\n')
    .slice(1, -1)
  // What a terminal gives each: two columns to an emoji, whatever it is put together from, and one to a letter.
  const widths = [2, 2, 2, 2, 2, 4, 1, 2]
  expect(lines).toEqual(names.map((name, i) => `${name}${' '.repeat(5 - (widths[i] ?? 0))}  x     ${name}`))
})

test('elsewhere, under --json and for fields that were asked for, nothing is', async () => {
  const piped = await table(rows, { isTTY: false })
  expect(piped).toBe(`ABOUT\tHASH\tTEAM\n${address} #2 to ${address}\t${hash}\tAcme\nJKT\t-\tAcme\n`)
  expect(JSON.parse(await table(rows, { json: true }))).toEqual(rows)
  expect(await table(rows, { fields: ['hash', 'team'] })).toContain(hash)
})

test('a list of any length is printed in the format that the flags say', async () => {
  const many = Array.from({ length: 2500 }, (_, n) => ({ uid: String(1293660434600336 + n), hash: null }))
  const lines = async (flags: Partial<IoFlags>) => (await table(many, { isTTY: false, ...flags })).split('\n')
  const csv = await lines({ csv: true })
  expect([csv.length, csv[0], csv[1]]).toEqual([2502, 'uid,hash', '04:98:93:CA:AA:11:90,'])
  const ndjson = await lines({ json: true, ndjson: true, fields: ['uid'] })
  expect([ndjson.length, ndjson[2499]]).toEqual([2501, JSON.stringify({ uid: many.at(-1)?.uid })])
  expect(JSON.parse((await lines({ json: true })).join(''))).toEqual(many)
  expect([await table([], { json: true }), await table([], { json: true, ndjson: true })]).toEqual([
    '[]\n',
    '',
  ])
  expect(await table([], { csv: true })).toBe('')
})

test('a pause is told in words', () => {
  const told = (isPaused: boolean) =>
    about({ subject: { contractId: 3, contractAddress: address, isPaused } } as unknown as Parameters<
      typeof about
    >[0])
  expect([told(true), told(false)]).toEqual([`${address} paused`, `${address} unpaused`])
})

test('under CI a terminal gets neither colors nor a bar that is redrawn, like a pipe', async () => {
  const shownWith = (env: Record<string, string>): Promise<string> => {
    const terminal = new Terminal(true)
    let now = 0
    const io = createIo(
      { stdout: terminal, stderr: terminal, env, now: () => new Date(now) },
      { json: false, quiet: false, color: true },
    )
    const progress = io.progress('Rows', 10)
    now = 200
    progress.advance(1)
    progress.end()
    void io.marked('bold', 'x', '')
    return io.flush().then(() => terminal.text)
  }
  const esc = '\u001b'
  expect(await shownWith({})).toContain(`${esc}[1m`)
  expect(await shownWith({})).toContain(`${esc}[2K`)
  for (const env of [{ CI: '1' }, { CI: 'true' }, { TERM: 'dumb' }])
    expect([env, await shownWith(env)]).toEqual([env, 'x\n'])
  expect(await shownWith({ CI: 'false' })).toContain(`${esc}[1m`)
  expect(await shownWith({ NO_COLOR: '1' })).not.toContain(`${esc}[1m`)
})

test('a terminal that does not say how wide it is shows the whole line, as one of 80 columns', () => {
  const shownAt = (size: { columns?: number }) => {
    const terminal = Object.assign(new Terminal(true), size)
    const progress = startProgress(terminal, {
      label: 'Editing',
      total: 10,
      quiet: false,
      dumb: false,
      now: () => new Date(1000),
    })
    progress.advance(5)
    return terminal.text
  }
  expect(shownAt({ columns: 80 })).toContain('Editing [############............] 5/10')
  for (const size of [{ columns: 0 }, {}]) expect(shownAt(size)).toBe(shownAt({ columns: 80 }))
})
