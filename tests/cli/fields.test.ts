import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { seed, uids } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})

describe('--fields', () => {
  test('of a list, as a table and as JSON, in the order given', async () => {
    const table = await here.run('teams', 'list', '--fields', 'name,id')
    expect([table.code, table.stdout]).toEqual([0, 'name\tid\nAcme\t1\nOther\t2\n'])
    const json = await here.run('teams', 'list', '--json', '--fields', 'name')
    expect(json.stdout).toBe('[{"name":"Acme"},{"name":"Other"}]\n')
  })

  test('of one thing, what a field holds among them, and the UID in hex', async () => {
    const args = ['chips', 'show', uids.plain, '--fields', 'hex,chipGroup.name,label']
    const { hex, ...rest } = (await here.run(...args, '--json')).json() as Record<string, unknown>
    expect(String(hex).replaceAll(':', '')).toBe(uids.plain.replaceAll(':', '').toUpperCase())
    expect(Object.keys(rest)).toEqual(['chipGroup.name', 'label'])
    expect((await here.run(...args)).stdout).toMatch(
      /^hex: +04:[^\n]*\nchipGroup\.name: [^\n]+\nlabel: [^\n]*\n$/,
    )
  })

  test('of a stream and of a batch, a line each', async () => {
    const args = ['chips', 'edit', '--uid', uids.plain, '--clear', '--fields', 'row,status']
    expect((await here.run(...args, '--json')).lines()).toEqual([{ row: 1, status: expect.any(String) }])
    expect((await here.run(...args)).stdout).toBe('1\tunchanged\n')
  })

  test('of an export, as columns', async () => {
    const ran = await here.run('chips', 'export', '--fields', 'uid,redirectUrl', '--file', 'out.csv')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('chips import --file out.csv')])
    expect(readFileSync(join(here.home, 'out.csv'), 'utf8')).toMatch(/^uid,redirectUrl\n04:/)
    expect((await here.run('chips', 'export', '--fields', 'colour')).code).toBe(2)
  })

  test('a name that does not fit is refused, with those that do; of what was done it is only said', async () => {
    const ran = await here.run('teams', 'list', '--fields', 'colour')
    expect([ran.code, ran.stdout]).toEqual([2, ''])
    expect(ran.stderr).toBe(
      '--fields: there is no "colour".\nAvailable: id, name, createdAt, budget, brand, publicPages\n',
    )
    const made = await here.run('chip-groups', 'create', 'New', '--team', 'Acme', '--json', '--fields', 'x')
    expect([made.code, made.stdout]).toEqual([0, '{"x":null}\n'])
    expect(made.stderr).toContain('--fields: there is no "x" here. Available: ')
    expect((await here.run('teams', 'list', '--fields', ',')).code).toBe(2)
  })
})
