import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

let here: CliHome
let daemon: TestDaemon
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})
const json = async (...args: string[]) => {
  const ran = await here.run(...args, '--json')
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
  return ran.json()
}
const write = (name: string, content: string) => writeFileSync(join(here.home, name), content)
const load = (...flags: string[]) =>
  here.run('chips', 'import', '--file', 'a.csv', '--chip-group', 'G', '--key-set', '101', ...flags)

describe('the audit log', () => {
  test('the audit log says who did what', async () => {
    delete here.env.TAPCHIP_API_KEY
    await json('teams', 'create', '--name', 'Watched')
    const entries = (await json('audit', 'list', '--limit', '5')) as { target: string; actor: string }[]
    expect(entries.some(({ target }) => target.includes('Watched'))).toBe(true)
    expect((await here.run('audit', 'list')).stdout).toMatch(/^ID\tAT\tACTOR/)
    await json('teams', 'remove', 'Watched', '--yes')
  })

  test('of a long list the newest, and how to see the others: to scripts as well', async () => {
    for (const label of ['p1', 'p2', 'p3'])
      await json('links', 'create', '--label', label, '--base-url', 'https://x.example')
    const all = (await json('audit', 'list', '--action', 'links.create')) as { id: number }[]
    expect(all.length).toBeGreaterThanOrEqual(3)
    const first = await here.run('audit', 'list', '--action', 'links.create', '--limit', '2', '--json')
    expect(first.json()).toEqual(all.slice(0, 2))
    expect(first.stderr).toBe(`These are the newest 2. For older ones: --before ${all[1]?.id}\n`)
    const exact = await here.run('audit', 'list', '--action', 'links.create', '--limit', String(all.length))
    expect(exact.stderr).toBe('')
    expect((await here.run('audit', 'list', '--help')).stdout).toContain('(default: 100)')
    for (const noun of ['taps', 'transactions'])
      expect((await here.run(noun, 'list', '--limit', '1000', '--json')).code).toBe(0)
  })
})

test('a time may be told from now on', async () => {
  expect((await here.run('audit', 'list', '--since', '1h', '--json')).stdout).toContain('teams.create')
  const ran = await here.run('taps', 'list', '--since', 'yesterday')
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--since must be a date (2026-12-31)')])
  expect((await here.run('taps', 'list', '--since', '2026-13-41')).code).toBe(2)
})

test('each change of a batch, and of its undo, names the batch', async () => {
  write('c.csv', 'uid,redirectUrl\n04250000000009,https://example.com/1\n')
  write('a.csv', 'uid\n04250000000009\n')
  const ofImport = /b_[0-9a-z]{14}/.exec((await load()).stderr)?.[0] ?? ''
  const edited = await here.run('chips', 'edit', '--file', 'c.csv')
  const ofEdit = /b_[0-9a-z]{14}/.exec(edited.stderr)?.[0] ?? ''
  const ofUndo = /b_[0-9a-z]{14}/.exec((await here.run('batch', 'undo', ofEdit, '--yes')).stderr)?.[0] ?? ''
  const actions = async (batch: string) =>
    ((await json('audit', 'list', '--batch', batch)) as { action: string; batch: string }[])
      .filter(({ action }) => !action.startsWith('batches.'))
      .map((entry) => [entry.action, entry.batch === batch])
  expect(await actions(ofEdit)).toEqual([['chips.batch', true]])
  expect(await actions(ofUndo)).toEqual([['chips.batch', true]])
  expect((await actions(ofImport)).at(-1)).toEqual(['chip-groups.create', true])
  expect((await actions(ofImport))[0]).toEqual(['chips.import', true])
  expect((await here.run('audit', 'list', '--batch', 'b_1')).code).toBe(2)
})

test('a table of changes counts what --json lists', async () => {
  const lines = Array.from({ length: 5 }, (_, i) => `0425000000000${i}`)
  write('a.csv', `uid\n${lines.join('\n')}\n`)
  await load()
  write('b.csv', `uid,redirectUrl\n${lines.map((uid) => `${uid},https://example.com/`).join('\n')}\n`)
  await here.run('chips', 'edit', '--file', 'b.csv')
  expect((await here.run('audit', 'list', '--limit', '2')).stdout).toContain('"rows":"5 entries"')
  expect((await here.run('audit', 'list', '--limit', '2', '--json')).stdout).toContain('"rows":[{"uid"')
})

describe('the chain of the audit log', () => {
  const head = async () => ((await json('audit', 'verify')) as { head: string }).head
  const edit = (target: string) =>
    daemon.ctx.db.write(async (trx) => {
      const { id } = await trx
        .selectFrom('audit')
        .select('id')
        .orderBy('id')
        .limit(1)
        .executeTakeFirstOrThrow()
      await trx.updateTable('audit').set({ target }).where('id', '=', id).execute()
      return id
    })
  const firstTarget = async () =>
    (
      await daemon.ctx.db.read
        .selectFrom('audit')
        .select('target')
        .orderBy('id')
        .limit(1)
        .executeTakeFirstOrThrow()
    ).target

  test('is checked, and a changed entry is named, with exit code 1', async () => {
    const whole = await here.run('audit', 'verify', '--json')
    expect([whole.code, whole.json()]).toEqual([
      0,
      {
        beganAnew: [],
        sealedSince: expect.any(String),
        ok: true,
        entries: expect.any(Number),
        head: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ])
    const before = await firstTarget()
    const id = await edit('something else')
    const bad = await here.run('audit', 'verify', '--json')
    expect([bad.code, bad.json()]).toMatchObject([1, { ok: false, firstBad: id }])
    expect(bad.stderr).toContain(`The audit log is not intact: entry ${id} was changed`)
    expect((await here.run('audit', 'verify')).stdout).toMatch(/^Whole: +no\n/)
    await edit(before)
    expect((await here.run('audit', 'verify')).code).toBe(0)
  })

  test('is exported, and the export is checked without a daemon', async () => {
    const file = join(here.home, 'audit.jsonl')
    const ran = await here.run('audit', 'export', '--file', 'audit.jsonl')
    expect([ran.code, ran.stderr]).toEqual([
      0,
      expect.stringContaining('tapchip audit verify --file audit.jsonl'),
    ])
    const text = readFileSync(file, 'utf8')
    const lines = text.trimEnd().split('\n')
    const wanted = await json('audit', 'verify')
    delete here.env.TAPCHIP_ADMIN_TOKEN
    delete here.env.TAPCHIP_API_KEY
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    expect(await json('audit', 'verify', '--file', 'audit.jsonl')).toEqual(wanted)
    const check = async (...changed: string[]) => {
      write('audit.jsonl', `${changed.join('\n')}\n`)
      const { code, stdout } = await here.run('audit', 'verify', '--file', 'audit.jsonl', '--json')
      return [code, (JSON.parse(stdout || '{}') as { firstBad?: number }).firstBad]
    }
    const middle = Math.floor(lines.length / 2)
    const changed = lines.with(middle, (lines[middle] ?? '').replace(/"actor":"/, '"actor":"x'))
    expect(await check(...changed)).toEqual([1, middle])
    expect(await check(...lines.toSpliced(middle, 1))).toEqual([1, middle])
    expect(await check(...lines.slice(0, -1))).toEqual([1, lines.length - 1])
    expect(await check('{"uid":"x"}')).toEqual([1, undefined])
    for (const name of ['missing.jsonl', '.'])
      expect((await here.run('audit', 'verify', '--file', name)).stderr).toMatch(/cannot be read: /)
  })

  test('a part is exported and checked as well', async () => {
    await json('links', 'create', '--label', 'part', '--base-url', 'https://x.example')
    const part = await here.run('audit', 'export', '--since', '1h')
    expect(part.code).toBe(0)
    const none = await here.run('audit', 'export', '--since', '2999-01-01')
    expect(none.lines()).toHaveLength(1)
    write('part.jsonl', part.stdout)
    write('none.jsonl', none.stdout)
    expect(await json('audit', 'verify', '--file', 'part.jsonl', '--expect', await head())).toMatchObject({
      ok: true,
    })
    expect(await json('audit', 'verify', '--file', 'none.jsonl')).toMatchObject({ ok: true, entries: 0 })
  })

  test('a batch keeps the head of its end, which stays in the log', async () => {
    for (const token of ['TAPCHIP_ADMIN_TOKEN', 'none']) {
      const held = here.env[token] ?? ''
      delete here.env[token]
      write('b.csv', `uid,redirectUrl\n${uids.blank},https://example.com/${token}\n`)
      const ran = await here.run('chips', 'edit', '--file', 'b.csv')
      const id = /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
      if (token !== 'none') here.env[token] = held
      const at = await head()
      const report = await here.run('batch', 'report', id, '--json')
      expect(report.lines()).toHaveLength(1)
      expect(report.stderr).toContain(`The audit log ended with ${at}.`)
      await json('links', 'create', '--label', `after ${token}`, '--base-url', 'https://x.example')
      const verified = await here.run('audit', 'verify', '--batch', id, '--json')
      expect([verified.code, verified.json()]).toMatchObject([
        0,
        { ok: true, expectedAt: expect.any(Number) },
      ])
    }
    const wrong = await here.run('audit', 'verify', '--expect', 'a'.repeat(64))
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('No entry has the expected hash')])
    // The entries themselves fit together.
    expect(wrong.stdout).toMatch(/^Whole: +yes\n.*Expected at: +-\n$/s)
    expect((await here.run('audit', 'verify', '--expect', 'abc')).code).toBe(2)
    expect((await here.run('audit', 'verify', '--batch', 'b_00000000000000')).code).toBe(2)
  })
})

test('the history of a chip is a timeline that people can read, and a list in its JSON', async () => {
  const edit = (url: string) => here.run('chips', 'edit', '--uid', uids.blank, '--redirect-url', url)
  expect((await edit('https://acme.example/1')).code).toBe(0)
  expect((await edit('https://acme.example/2')).code).toBe(0)
  const shown = await here.run('chips', 'show', uids.blank, '--history')
  expect(shown.stdout).toMatch(
    /\n20\S+Z +change +.*redirectUrl: https:\/\/acme\.example\/1 → https:\/\/acme\.example\/2.*by key:ops\n/,
  )
  const chip = (await json('chips', 'show', uids.blank, '--history', '--limit', '1')) as { history: object[] }
  expect(chip.history).toMatchObject([
    { kind: 'change', changes: { redirectUrl: { to: 'https://acme.example/2' } } },
  ])
  const by = (await json('audit', 'list', '--by', 'ops', '--uid', uids.blank)) as { target: string }[]
  expect(by.length).toBeGreaterThanOrEqual(2)
})
