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

describe('a dry run', () => {
  test('of any command shows the request, and sends none', async () => {
    const before = await here.json('teams', 'list')
    const ran = await here.run('teams', 'create', 'Dry', '--dry-run')
    expect([ran.code, ran.stdout]).toEqual([0, `POST ${daemon.url}/admin/teams {"name":"Dry"}\n`])
    const removed = await here.run('teams', 'remove', 'Acme', '--dry-run', '--json')
    expect(removed.json()).toEqual({ dryRun: true, method: 'DELETE', url: `${daemon.url}/admin/teams/1` })
    expect(await here.json('teams', 'list')).toEqual(before)
  })

  test('shows no key, uses up no ref, and leaves this machine as it is', async () => {
    here.stdin = JSON.stringify({
      id: 301,
      metaReadKey: '0'.repeat(32),
      fileReadKey: '1'.repeat(32),
      diversification: 'none',
    })
    const keys = await here.run('key-sets', 'create', '--file', '-', '--dry-run')
    expect(keys.stdout).toContain('"id":301')
    expect(keys.stdout).not.toMatch(/0{32}|1{32}/)
    expect((await here.run('refs', 'show', 'x', '--dry-run')).stdout).toBe(`GET ${daemon.url}/refs/x\n`)
    expect((await here.run('context', 'create', 'x', '--daemon', 'http://x', '--dry-run')).code).toBe(0)
    expect(await here.json('context', 'list')).toEqual([])
  })
})
