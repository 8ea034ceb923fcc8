import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { seed, uids } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

describe('a dry run', () => {
  test('of any command shows the request, and changes nothing', async () => {
    await here.run('teams', 'create', 'Empty')
    const before = await here.json('teams', 'list')
    const ran = await here.run('teams', 'create', 'Dry', '--dry-run')
    expect([ran.code, ran.stdout]).toEqual([0, `POST ${daemon.url}/admin/teams {"name":"Dry"}\n`])
    const removed = await here.run('teams', 'remove', 'Empty', '--dry-run', '--json')
    expect(removed.json()).toEqual({
      dryRun: true,
      method: 'DELETE',
      url: expect.stringMatching(/\/admin\/teams\/\d+$/),
    })
    expect(await here.json('teams', 'list')).toEqual(before)
  })

  test('ends as the command itself would', async () => {
    const unregistered = '04:00:00:00:00:00:09'
    const refused: readonly (readonly string[])[] = [
      ['chips', 'replace', uids.blank, '--with', unregistered],
      ['links', 'create', '--team', 'Acme', '--name', 'X', '--base-url', 'javascript:x'],
      ['teams', 'create', 'Acme'],
      ['teams', 'remove', 'Acme'],
      ['api-keys', 'create', '--team', 'Nobody', '--name', 'x'],
      ['teams', 'create', 'Other', '--confirm', 'elsewhere'],
    ]
    for (const command of refused) {
      const dry = await here.run(...command, '--yes', '--dry-run')
      const real = await here.run(...command, '--yes')
      // The real one says first where it goes.
      const why = real.stderr.replace(/^At .*\n/, '')
      expect([command, dry.code, dry.stderr]).toEqual([command, real.code, why])
      expect(dry.code).not.toBe(0)
    }
  })

  test('of a step of a batch ends as the step would, and does not take it', async () => {
    const begin = (...more: string[]) => {
      here.stdin = `uid,redirectUrl\n${uids.blank},https://example.com/batch\n`
      return here.run('chips', 'edit', '--file', '-', '--yes', ...more)
    }
    expect((await begin('--name', 'done')).code).toBe(0)
    expect((await begin('--name', 'later', '--at', '2099-01-01T00:00:00Z')).code).toBe(0)
    const before = await here.json('batch', 'list', '--all')
    const step = (words: string, ...more: string[]) => here.run('batch', ...words.split(' '), ...more)
    for (const words of ['cancel done', 'remove later', 'approve later', 'pause later', 'resume later']) {
      const dry = await step(words, '--dry-run')
      const real = await step(words, ...(words.startsWith('pause') ? [] : ['--yes']))
      expect([words, dry.code]).toEqual([words, real.code])
      expect(dry.code).not.toBe(0)
    }
    for (const words of ['cancel later', 'remove done'])
      expect((await step(words, '--dry-run')).stdout).toContain('/batches/b_')
    expect(await here.json('batch', 'list', '--all')).toEqual(before)
    for (const words of ['cancel later', 'remove later', 'remove done'])
      expect([words, (await step(words, '--yes')).code]).toEqual([words, 0])
  })

  test('is refused by a daemon of before, and where none is', async () => {
    const old = createServer((request, response) => {
      const body = {
        statusCode: 404,
        code: 'not_found',
        message: `There is no ${request.method} at this path.`,
      }
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    await once(old.listen(0, '127.0.0.1'), 'listening')
    const address = old.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    const ran = await here.run('teams', 'create', 'Dry', '--dry-run', '--url', url)
    expect([ran.code, ran.stderr]).toEqual([
      1,
      expect.stringContaining('cannot do a dry run of the request. Nothing was changed.'),
    ])
    old.closeAllConnections()
    await once(old.close(), 'close')
    const gone = await here.run('teams', 'create', 'Dry', '--dry-run', '--url', url)
    expect([gone.code, gone.stderr]).toEqual([5, expect.stringContaining('not reachable')])
  })

  test('of a sheet names the requests that would send its rows, and of a chip the one that would open its session', async () => {
    const rows = `uid,redirectUrl\n${uids.blank},https://example.com/dry\n`
    const sent = (rest: string) =>
      expect.stringMatching(`Would send 1 row by ${rest.replace('URL', daemon.url)}\\.\n`)
    const dryRun = async (...args: string[]) => {
      here.stdin = rows
      const { code, stderr } = await here.run(...args, '--file', '-', '--dry-run')
      return [code, stderr]
    }
    expect(await dryRun('chips', 'edit')).toEqual([0, sent('POST URL/batches/ID/rows')])
    expect(await dryRun('chips', 'apply', '--json')).toEqual([0, sent('POST URL/admin/batches/ID/rows')])
    const imported = await dryRun('chips', 'import', '--chip-group', 'G', '--key-set', '101')
    expect(imported[1]).toEqual(sent('POST URL/admin/batches/ID/rows'))
    const keys = { metaReadKey: '0'.repeat(32), fileReadKey: '1'.repeat(32), appMasterKey: '2'.repeat(32) }
    here.stdin = JSON.stringify({ id: 302, ...keys, diversification: 'an10922' })
    expect((await here.run('key-sets', 'create', '--file', '-')).code).toBe(0)
    const provision = ['nfc', 'provision', '--key-set', '302', '--chip-group', 'Dry', '--reader', 'emulator']
    const ran = await here.run(...provision, '--accept-url', '--dry-run')
    expect([ran.code, ran.stdout]).toEqual([
      0,
      expect.stringMatching(`^POST ${daemon.url}/admin/nfc/sessions .*"keySet":302,"chipGroup":"Dry"`),
    ])
    expect((await here.run(...provision, '--accept-url', '--count', '3', '--dry-run')).stdout).toBe(
      ran.stdout,
    )
    const onLoopback = await here.run(...provision, '--count', '3', '--dry-run')
    expect([onLoopback.code, onLoopback.stderr]).toEqual([2, expect.stringContaining('loopback')])
    expect(await here.json('batch', 'list')).toEqual([])
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
