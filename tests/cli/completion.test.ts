import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { seed } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})

const offered = async (...words: string[]): Promise<string[]> => {
  const ran = await here.run('__complete', '--', ...words)
  expect(ran.code).toBe(0)
  return ran.stdout.split('\n').flatMap((line) => (line === '' ? [] : (line.split('\t')[0] ?? '')))
}

describe('what could stand next', () => {
  test('nouns, verbs and flags', async () => {
    expect(await offered('chip')).toEqual(['chips', 'chip-groups'])
    expect(await offered('')).not.toContain('__complete')
    expect(await offered('chips', 'e')).toEqual(['edit', 'edit-self', 'export', 'enable'])
    expect(await offered('chips', 'edit', '--re')).toEqual(['--redirect-url'])
    expect(await offered('chips', 'edit', '--js')).toEqual(['--json'])
    expect(await offered('help', 'exi')).toEqual(['exit-codes'])
  })

  test('values that the daemon and the files hold', async () => {
    expect(await offered('chips', 'list', '--chip-group', '')).toEqual(['Jackets', 'Prints'])
    expect(await offered('chips', 'import', '--key-set', '10')).toEqual(['101', '102', '103'])
    expect(await offered('chip-groups', 'rename', 'J')).toEqual(['Jackets'])
    expect(await offered('teams', 'remove', '')).toEqual(['Acme', 'Other'])
    expect(await offered('taps', 'list', '--outcome', 're')).toEqual(['refused', 'replayed'])
    expect(await offered('chips', 'edit', '--file', '')).toEqual([':files'])
    await here.run('context', 'create', 'prod', '--daemon', 'https://prod.example')
    expect(await offered('context', 'use', '')).toEqual(['prod'])
    expect(await offered('chips', 'list', '--context', '')).toEqual(['prod'])
  })

  test('nothing, without a word of complaint, when no daemon answers', async () => {
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    const ran = await here.run('__complete', '--', 'chips', 'list', '--chip-group', '')
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, '', ''])
  })
})

test.each(['bash', 'zsh', 'fish'])('the script of %s', async (shell) => {
  const { stdout, code } = await here.run('completion', shell)
  expect(code).toBe(0)
  expect(stdout).toContain('tapchip __complete -- ')
  expect(stdout).toMatchSnapshot()
  if (spawnSync(shell, ['--version']).status === 0) {
    expect(spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    })
  }
})
