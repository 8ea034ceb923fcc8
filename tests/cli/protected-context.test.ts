import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emptyMetadata } from '../../src/values/token.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { onTerminal } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { png } from '../support/poap/image-bytes.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
})
afterAll(() => daemon.stop())
beforeEach(async () => {
  here = cliHome({ TAPCHIP_API_KEY: acmeKey, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
  const made = await here.run('context', 'create', 'shop', '--url', daemon.url, '--protected')
  expect(made.code).toBe(0)
})
afterEach(() => here.remove())

const batches = () => join(here.home, '.local/state/tapchip/batches')
const edit = ['chips', 'edit', '--uid', uids.jacket, '--redirect-url', 'https://example.com/a']

describe('a context', () => {
  test('keeps where it is administered, and that it is protected', async () => {
    const made = await here.run(
      ...['context', 'create', 'far', '--url', 'https://tap.example.com', '--json'],
      ...['--admin-url', 'unix:/srv/tapchip/admin.sock', '--protected'],
    )
    const kept = { adminUrl: 'unix:/srv/tapchip/admin.sock', protected: true }
    expect(made.json()).toMatchObject({ name: 'far', url: 'https://tap.example.com', ...kept })
    const file = JSON.parse(readFileSync(join(here.home, '.config/tapchip/config.json'), 'utf8'))
    expect(file.contexts.far).toEqual({ url: 'https://tap.example.com', ...kept })
    expect((await here.run('context', 'list', '--json')).json()).toEqual([
      expect.objectContaining({ name: 'shop', adminUrl: null, protected: true }),
      expect.objectContaining({ name: 'far', ...kept }),
    ])
    expect((await here.run('context', 'show', '--context', 'far', '--json')).json()).toMatchObject(kept)
    // A key that is kept later changes none of it.
    here.stdin = 'svc_x\n'
    await here.run('login', '--with-token', '--offline', '--context', 'far')
    expect((await here.run('context', 'show', '--context', 'far', '--json')).json()).toMatchObject(kept)
  })

  test('takes no address of an administration that is none', async () => {
    for (const url of ['admin.sock', 'unix:', 'ftp://x']) {
      const ran = await here.run('context', 'create', 'x', '--url', 'http://x', '--admin-url', url)
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--admin-url')])
    }
  })
})

test('a context that is made or taken away says where commands go then', async () => {
  const other = cliHome()
  try {
    const made = await other.run('context', 'create', 'shop', '--url', 'https://tap.invalid')
    expect(made.stderr).toContain('It is the current context, since it is the first')
    expect((await other.run('context', 'create', 'b', '--url', 'http://b')).stderr).not.toContain('current')
    const removed = await other.run('context', 'remove', 'shop', '--yes')
    expect(removed.stderr).toContain('now go to http://127.0.0.1:8484.')
    expect((await other.run('context', 'remove', 'b', '--yes')).stderr).not.toContain('current')
  } finally {
    other.remove()
  }
})

test('a name that is not there is said to be none', async () => {
  for (const slip of ['shpo', 'sho', 'shopp', 'shap']) {
    const ran = await here.run(...edit, '--confirm', slip)
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('Did you mean shop?')])
  }
  expect((await here.run(...edit, '--confirm', 'other')).stderr).toContain('tapchip context list')
})

describe('through a protected context, off a terminal', () => {
  const writes: [string, string[]][] = [
    ['a single write', edit],
    ['one for administrators', ['teams', 'create', 'Other']],
    ['a stream', ['chips', 'import', '--file', 'new.csv', '--chip-group', 'New', '--key-set', '101']],
    ['a batch', ['chips', 'edit', '--file', 'edits.csv']],
    [
      'a group',
      ['chips', 'edit', '--chip-group', 'Jackets', '--redirect-url', 'https://x.example/', '--yes'],
    ],
    ['a batch of transfers', ['phygitals', 'transfer', '--file', 'transfers.csv', '--yes']],
    ['metadata', ['phygitals', 'metadata', '--file', 'metadata.csv']],
    ['badges', ['badge-events', 'assign', '--file', 'badges.csv']],
    ['an upload', ['badge-events', 'create', '--file', 'events.jsonl']],
    ['a removal', ['links', 'remove', '1', '--yes']],
    [
      'setting chips up',
      ['nfc', 'provision', '--key-set', '101', '--chip-group', 'J', '--reader', 'emulator'],
    ],
    [
      'a box of chips',
      ['nfc', 'provision', '--key-set', '101', '--chip-group', 'J', '--count', '2', '--reader', 'emulator'],
    ],
    ['a reset', ['nfc', 'reset', '--yes', '--reader', 'emulator']],
    [
      'what uses a tap up',
      ['chips', 'find', `https://x.example/t?d=101&e=${'AB'.repeat(16)}&c=${'CD'.repeat(8)}`],
    ],
  ]
  beforeEach(() => {
    const write = (name: string, text: string) => writeFileSync(join(here.home, name), text)
    write('new.csv', 'uid\n04:98:93:CA:AA:11:77\n')
    write('edits.csv', `uid,redirectUrl\n${uids.jacket},https://example.com/b\n`)
    write('transfers.csv', `uid,recipient\n${uids.jacket},0x52908400098527886E0F7030069857D2E4169EE7\n`)
    write(
      'metadata.csv',
      `uid,metadata\n${uids.jacket},"${JSON.stringify(emptyMetadata).replaceAll('"', '""')}"\n`,
    )
    write('badges.csv', `uid,badgeEventId\n${uids.jacket},1\n`)
    write(
      'events.jsonl',
      `${JSON.stringify({ name: 'A', description: 'b', startDate: '2031-01-01', endDate: '2031-01-01', expiryDate: '2031-02-01', eventURL: 'https://x.example', requestedCodes: 10, image: 'a.png' })}\n`,
    )
    writeFileSync(join(here.home, 'a.png'), png())
  })

  test.each(writes)(
    '%s needs --confirm NAME, and nothing that changes something is sent',
    async (_, args) => {
      const sent: string[] = []
      const listening = createServer((request, response) => {
        sent.push(`${request.method} ${request.url?.split('?')[0]}`)
        response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
      })
      await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
      try {
        const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
        await here.run('context', 'create', 'kept', '--url', url, '--protected')
        const ran = await here.run(...args, '--context', 'kept')
        expect([ran.code, ran.stdout]).toEqual([2, ''])
        expect(ran.stderr).toMatch(/The context "kept".* is protected\. Nothing was sent\.\n.*--confirm kept/)
        expect(
          sent.filter((request) => !/^GET \/(healthz|chip-groups|chips|admin\/\S+)$/.test(request)),
        ).toEqual([])
        expect(existsSync(batches())).toBe(false)
        const other = await here.run(...args, '--context', 'kept', '--confirm', 'shop')
        expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('names the context "shop"')])
      } finally {
        listening.close()
      }
    },
  )

  test('with its name it goes on, and says where it goes', async () => {
    const ran = await here.run(...edit, '--json', '--confirm', 'shop')
    expect([ran.code, ran.stderr.split('\n')[0]]).toEqual([0, `At ${daemon.url} (context shop), team Acme`])
    expect(ran.stdout).not.toContain('At ')
    const id = /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
    // --yes says nothing of the daemon.
    expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(2)
    expect((await here.run('batch', 'undo', id, '--yes', '--confirm', 'shop')).code).toBe(0)
  })

  test('a resumed batch needs it as well', async () => {
    writeFileSync(join(here.home, 'unknown.csv'), 'uid,redirectUrl\n04000000000011,\n')
    const sheet = ['chips', 'edit', '--file', 'unknown.csv', '--confirm', 'shop']
    const id = /b_[0-9a-z]{14}/.exec((await here.run(...sheet)).stderr)?.[0] ?? ''
    const resume = ['batch', 'resume', id, '--retry-failed', '--yes']
    expect((await here.run(...resume)).code).toBe(2)
    expect((await here.run(...resume, '--confirm', 'shop')).code).toBe(3)
  })

  test('reading, and a dry run, need nothing and say nothing', async () => {
    for (const args of [
      ['chips', 'show', uids.jacket],
      [...edit, '--dry-run'],
      ['chips', 'edit', '--file', 'edits.csv', '--dry-run'],
    ]) {
      const ran = await here.run(...args)
      expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringContaining('At http')])
    }
  })
})

describe('what is said before a write', () => {
  test('names the team of the key, or that of the command, and where no team is meant none', async () => {
    here.env.TAPCHIP_URL = daemon.url
    const said = async (...args: string[]) => (await here.run(...args)).stderr.split('\n')[0]
    expect(
      await said('links', 'create', '--label', 'A', '--base-url', 'https://a.example', '--team', 'Acme'),
    ).toBe(`At ${daemon.url} (TAPCHIP_URL), team Acme`)
    // What is the daemon's, or another team's, is not that of the key.
    expect(await said('teams', 'create', 'Beside')).toBe(`At ${daemon.url} (TAPCHIP_URL)`)
    here.env.TAPCHIP_API_KEY = ''
    expect(await said('teams', 'create', 'Third')).toBe(`At ${daemon.url} (TAPCHIP_URL)`)
    expect(await said('teams', 'create', 'Fourth', '--quiet')).toBe('')
    expect(await said('teams', 'list')).toBe('')
  })

  test('the team of a key is asked of the daemon', async () => {
    const answer = await fetch(`${daemon.url}/team`, { headers: { 'x-svc-api-key': acmeKey } })
    expect(await answer.json()).toMatchObject({ id: expect.any(Number), name: 'Acme' })
  })
})

test('on a terminal the name is typed', async () => {
  const command = `teams create Typed --context shop`
  const wrong = await onTerminal(command, [[/type its name/, 'yes\r']], here.env)
  expect([wrong.code, wrong.screen]).toEqual([2, expect.stringContaining('Nothing was changed')])
  const right = await onTerminal(command, [[/type its name/, 'shop\r']], here.env)
  expect([right.code, right.screen]).toEqual([0, expect.stringContaining(`At ${daemon.url} (context shop)`)])
})
