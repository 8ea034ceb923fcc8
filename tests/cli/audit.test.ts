import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { seed } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
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
    ((await json('audit', 'list', '--batch', batch)) as { action: string; batch: string }[]).map((entry) => [
      entry.action,
      entry.batch === batch,
    ])
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
  expect((await here.run('audit', 'list', '--limit', '1')).stdout).toContain('"rows":"5 entries"')
  expect((await here.run('audit', 'list', '--limit', '1', '--json')).stdout).toContain('"rows":[{"uid"')
})
