import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

describe('what chips belong to', () => {
  test('key sets: keys from a file, from standard input, from the environment, never shown', async () => {
    const key = '00112233445566778899aabbccddeeff'
    writeFileSync(
      join(here.home, 'keys.json'),
      JSON.stringify({ id: 201, metaReadKey: key, fileReadKey: key, diversification: 'none' }),
    )
    const made = await here.run('key-sets', 'create', '--file', 'keys.json', '--json')
    expect(made.json()).toMatchObject({ id: 201, diversification: 'none' })
    here.stdin = JSON.stringify({ id: 202, metaReadKey: key, fileReadKey: key, diversification: 'an10922' })
    expect((await here.run('key-sets', 'create', '--file', '-')).code).toBe(0)
    here.env.TAPCHIP_META_READ_KEY = key
    here.env.TAPCHIP_FILE_READ_KEY = key
    expect(
      await here.json(
        'key-sets',
        'create',
        '--id',
        '203',
        '--diversification',
        'none',
        '--mac-input-from',
        'd',
      ),
    ).toMatchObject({ id: 203, macInputFrom: 'd' })
    const listed = await here.run('key-sets', 'list', '--json')
    expect(made.stdout + listed.stdout + (await here.run('audit', 'list', '--json')).stdout).not.toContain(
      key,
    )
    expect(await here.json('key-sets', 'remove', '203', '--yes')).toEqual({ success: true })
    ends(await here.run('key-sets', 'remove', '101', '--yes'), 1, '')
    const refuses = async (fields: object, why: string) => {
      const set = { id: 204, metaReadKey: key, fileReadKey: key, diversification: 'none', ...fields }
      here.stdin = JSON.stringify(set)
      const refused = await here.run('key-sets', 'create', '--file', '-')
      expect(refused.code).not.toBe(0)
      expect(refused.stderr).toContain(why)
    }
    await refuses({ diversification: 'sdm' }, 'The diversification "sdm" is unknown.')
    await refuses({ parameters: { enc: 'enc' } }, 'must not have the members enc')
    await refuses({ derivation: 'none' }, 'must not have the members derivation')
    await refuses({ template: '?e={pic}&c={mac}' }, 'template has {pic} at character 4.')
    here.env.TAPCHIP_FILE_READ_KEY = '0'.repeat(32)
    here.stdin = JSON.stringify({ id: 204, diversification: 'none' })
    const zeros = await here.run(
      'key-sets',
      'create',
      '--file',
      '-',
      '--template',
      '?u={uid}&n={ctr}&c={mac}',
      '--json',
    )
    expect(zeros.json()).toMatchObject({ id: 204, template: '?u={uid}&n={ctr}&c={mac}', parameters: null })
    expect(zeros.stderr).toContain('fileReadKey is all zeros')
    writeFileSync(join(here.home, 'keys.json'), key)
    const broken = await here.run('key-sets', 'create', '--file', 'keys.json')
    ends(broken, 2, 'keys.json')
    expect(broken.stderr).not.toContain(key)
  })

  test('chip groups, by name or by id', async () => {
    const { id } = (await here.json('chip-groups', 'create', '--name', 'Caps')) as { id: number }
    expect(await here.json('chip-groups', 'rename', 'Caps', '--name', 'Hats')).toMatchObject({
      id,
      name: 'Hats',
    })
    expect(await here.json('chips', 'list', '--chip-group', String(id))).toEqual([])
    expect(await here.json('chip-groups', 'remove', String(id), '--yes')).toEqual({ success: true })
    ends(await here.run('chips', 'list', '--chip-group', 'Hats'), 1, '')
    ends(await here.run('chip-groups', 'remove', 'Jackets', '--yes'), 1, '')
  })

  test('items', async () => {
    writeFileSync(
      join(here.home, 'cap.json'),
      JSON.stringify({ id: 'cap', name: 'Cap', contract: 'JKT', variants: [{ id: 'one', attributes: [] }] }),
    )
    expect(await here.json('items', 'create', '--file', 'cap.json', '--description', 'Warm')).toMatchObject({
      id: 'cap',
      description: 'Warm',
      variants: [{ id: 'one' }],
    })
    expect(await here.json('items', 'edit', 'cap', '--name', 'Big cap')).toMatchObject({
      name: 'Big cap',
      description: 'Warm',
    })
    expect(await here.json('items', 'show', 'cap')).toMatchObject({ id: 'cap' })
    expect(await here.json('items', 'list')).toMatchObject([{ id: 'jacket' }, { id: 'cap' }])
    expect(await here.json('items', 'list', '--team', 'Other')).toMatchObject([{ id: 'other-item' }])
    expect(await here.json('items', 'chips', 'jacket')).toHaveLength(2)
    ends(await here.run('items', 'edit', 'cap'), 2, '--name')
    expect(await here.json('items', 'remove', 'cap', '--yes')).toEqual({ success: true })
    ends(await here.run('items', 'show', 'cap'), 1, '')
  })

  test('links and contracts', async () => {
    const { id } = (await here.json(
      'links',
      'create',
      '--label',
      'New',
      '--base-url',
      'https://new.example/tap',
    )) as { id: number }
    expect(await here.json('links', 'remove', String(id), '--yes')).toEqual({ success: true })
    const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
    const args = [
      'contracts',
      'register',
      '--symbol',
      'OLD',
      '--name',
      'Old ones',
      '--chain-id',
      '31337',
      '--address',
      address,
    ]
    ends(await here.run(...args, '--two-tap-delay', '60'), 2, '--two-tap-window')
    expect(await here.json(...args, '--two-tap-delay', '60', '--two-tap-window', '3600')).toMatchObject({
      symbol: 'OLD',
      address,
    })
    expect((await here.run('contracts', 'list')).stdout).toContain('60 s, 3600 s')
  })
})

describe('a chip', () => {
  const uid = '04:C7:67:F2:06:61:80'
  test('is shown in both forms, linked, unlinked, disabled and enabled', async () => {
    expect((await here.run('chips', 'show', uid)).stdout).toMatch(
      /^UID: +1345149162905984\nHex: +04:C7:67:F2:06:61:80\n/,
    )
    expect(await here.json('chips', 'link', uid, '--item', 'jacket', '--variant', 's')).toMatchObject({
      item: { id: 'jacket' },
    })
    expect(await here.json('chips', 'unlink', uid, '--item', '--yes')).toMatchObject({ item: null })
    ends(await here.run('chips', 'link', uid), 2, '--item')
    ends(await here.run('chips', 'link', uid, '--token-id', '1'), 2, 'together')
    expect(await here.json('chips', 'disable', uid, '--reason', 'stolen', '--yes')).toMatchObject({
      disabledReason: 'stolen',
    })
    expect(await here.json('chips', 'enable', uid)).toMatchObject({ disabledAt: null })
  })

  test('is replaced and removed', async () => {
    const replaced = await here.run('chips', 'replace', uids.plain, '--with', uids.blank, '--yes', '--json')
    expect([replaced.code, replaced.stderr]).toEqual([0, `At ${daemon.url} (TAPCHIP_URL), team Acme\n`])
    expect(await here.json('chips', 'remove', uids.listed, '--yes')).toEqual({ success: true })
    ends(await here.run('chips', 'show', uids.listed), 1, '')
  })
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
