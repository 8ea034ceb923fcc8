import { rmSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { defaultLimits as shownLimits } from '../../src/cli/commands/teams.ts'
import { defaultLimits } from '../../src/daemon/domain/chain/budget.ts'
import { type CliHome, cliHome, ends, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { acmeKey, otherKey, seed, uids } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

describe('the team meant', () => {
  test("is the API key's, the one that --team names, or asked for with 2", async () => {
    expect(await here.json('links', 'list')).toHaveLength(2)
    expect(await here.json('links', 'list', '--team', 'Other')).toEqual([])
    here.env.TAPCHIP_API_KEY = otherKey
    expect(await here.json('links', 'list')).toEqual([])
    delete here.env.TAPCHIP_API_KEY
    ends(await here.run('links', 'create', '--label', 'x', '--base-url', 'https://x.example'), 2, '--team')
  })
})

test('a team that a project file names and the daemon lacks is said to be from there', async () => {
  const kept = { ...here.env }
  await here.run('context', 'create', 'shop', '--daemon', here.env.TAPCHIP_URL ?? '')
  writeFileSync(join(here.home, '.tapchip.json'), JSON.stringify({ context: 'shop', team: 'Gone' }))
  delete here.env.TAPCHIP_URL
  delete here.env.TAPCHIP_API_KEY
  ends(await here.run('links', 'list'), 1, `The team "Gone" is named by ${here.home}/.tapchip.json.`)
  expect((await here.run('links', 'list', '--team', 'Nobody')).stderr).not.toContain('is named by')
  rmSync(join(here.home, '.tapchip.json'))
  Object.assign(here.env, kept)
})

describe('off a terminal, the one thing named on the command line is enough, unless it is removed', () => {
  test.each([
    [['webhooks', 'roll', '999']],
    [['transactions', 'cancel', '999', '--reason', 'x']],
    [['chips', 'disable', '04FFFFFFFFFF80']],
    [['chips', 'unlink', '04FFFFFFFFFF80']],
    [['chips', 'replace', uids.plain, '--with', '04FFFFFFFFFF80']],
  ])('%j', async (args) => {
    // Asked for, and not there.
    const ran = await here.run(...args)
    expect([ran.stdout, ran.stderr]).toEqual(['', expect.not.stringContaining('--yes')])
    expect([1, 2]).toContain(ran.code)
  })

  test('it is really done', async () => {
    expect(await here.json('chips', 'disable', uids.blank)).toMatchObject({ disabledAt: expect.any(String) })
    expect(await here.json('chips', 'enable', uids.blank)).toMatchObject({ disabledAt: null })
  })
})

describe('access', () => {
  test('teams', async () => {
    expect(await here.json('teams', 'create', 'Third')).toMatchObject({ name: 'Third' })
    expect(await here.json('teams', 'list')).toMatchObject([
      { name: 'Acme' },
      { name: 'Other' },
      { name: 'Third' },
    ])
    expect(await here.json('teams', 'remove', 'Third', '--yes')).toEqual({ success: true })
    ends(await here.run('teams', 'remove', 'Third', '--yes'), 1, 'no team "Third"')
    ends(await here.run('teams', 'remove', 'Acme', '--yes'), 1, '')
  })

  test('the limits of a team without its own are those of the daemon', () => {
    expect(shownLimits).toEqual(defaultLimits)
  })

  test('what a team may send a day is set, and shown', async () => {
    const edit = (...args: string[]) => here.run('teams', 'edit', 'Acme', ...args)
    const set = await edit('--transactions-per-day', '500', '--gas-per-day', '40000000', '--json')
    expect(set.json()).toMatchObject({
      name: 'Acme',
      budget: { transactionsPerDay: 500, gasPerDay: 40_000_000, transactionsToday: 0 },
    })
    expect((await edit('--gas-per-day', 'default')).stdout).toMatch(
      /Transactions today: 0 of 500\nGas today: +0 of 2,500,000,000 \(no limit on the embedded chain\)/,
    )
    expect((await here.run('teams', 'list')).stdout).toMatch(
      /Acme\s.*0 of 500 transactions, 0 of 2,500,000,000 gas/,
    )
    expect(await here.json('teams', 'show', 'Acme')).toMatchObject({ budget: { transactionsPerDay: 500 } })
    const look = [
      '--brand-name',
      'Acme Outdoor',
      '--brand-color',
      '#0B6B4F',
      '--brand-logo',
      'http://a.example/logo.svg',
    ]
    ends(await edit(...look), 2, '--brand-logo: must be a whole https:// URL')
    expect((await edit(...look.slice(0, 4), '--json')).json()).toMatchObject({
      brand: { name: 'Acme Outdoor', color: '#0b6b4f', background: null, logoUrl: null },
    })
    expect((await edit('--brand-name', '')).stdout).toMatch(/\nColour: +#0b6b4f\n/)
    ends(await edit('--brand-background', '#0b6b50'), 2, 'The nearest that can: #')
    ends(await edit('--brand-color', '0b6b4f'), 2, '--brand-color: must be a colour')
    ends(await edit(), 2, '--transactions-per-day')
    ends(await edit('--transactions-per-day', '-1'), 2, '')
    ends(await edit('--gas-per-day', 'lots'), 2, '--gas-per-day must be a whole number')
    ends(await here.run('teams', 'edit', 'Nobody', '--gas-per-day', '1'), 1, 'no team "Nobody"')
    expect((await edit('--transactions-per-day', 'default', '--json')).json()).toMatchObject({
      budget: { transactionsPerDay: null, gasPerDay: null },
    })
  })

  test('API keys: shown once, and worth nothing when revoked', async () => {
    const made = (await here.json(
      'api-keys',
      'create',
      '--name',
      'shop',
      '--scopes',
      'read',
      '--expires',
      '2099-01-01',
    )) as { id: number; key: string }
    expect((await here.run('api-keys', 'list')).stdout).not.toContain(made.key)
    here.env.TAPCHIP_API_KEY = made.key
    expect((await here.run('items', 'list')).code).toBe(0)
    ends(await here.run('chips', 'edit', '--uid', uids.blank, '--clear'), 4, '')
    ends(await here.run('api-keys', 'revoke', String(made.id), '--yes'), 0, 'tapchip audit list --by shop')
    const refused = await here.run('items', 'list')
    ends(refused, 4, 'tapchip login')
  })

  test('are rolled and revoked by name', async () => {
    for (const [noun, create] of [
      ['api-keys', ['--team', 'Acme']],
      ['admin-tokens', ['--team', 'Acme']],
    ] as const) {
      await here.json(noun, 'create', '--name', 'laptop', '--scopes', 'read', ...create)
      const rolled = await here.json(noun, 'roll', 'laptop', '--overlap', '2h', '--team', 'Acme')
      expect(rolled).toEqual({
        ...{ id: expect.any(Number), name: 'laptop', key: expect.any(String) },
        oldUntil: expect.any(String),
      })
      ends(await here.run(noun, 'roll', 'laptop', '--overlap', 'soon'), 2, '--overlap must be a span')
      ends(await here.run(noun, 'roll', 'laptop', '--overlap', '31d'), 2, '--overlap must be at most 30d')
      expect(await here.json(noun, 'revoke', 'laptop', '--team', 'Acme', '--yes')).toEqual({ success: true })
      for (const verb of ['revoke', 'roll']) {
        const again = await here.run(noun, verb, 'laptop', '--team', 'Acme', '--yes')
        ends(again, 1, `"laptop" was revoked at `)
        ends(
          await here.run(noun, verb, 'nobody', '--team', 'Acme', '--yes'),
          1,
          `List them: tapchip ${noun} list`,
        )
      }
    }
  })

  test('an API key alone does the daily work of its team', async () => {
    const kept = { ...here.env }
    const { key } = (await here.json('api-keys', 'create', '--name', 'desk', '--team', 'Acme')) as {
      key: string
    }
    delete here.env.TAPCHIP_ADMIN_TOKEN
    here.env.TAPCHIP_API_KEY = key
    for (const words of [
      ['chips', 'show', uids.blank],
      ['chips', 'list', '--where', 'linked=false'],
      ['chips', 'export'],
      ['chips', 'disable', uids.blank],
      ['chips', 'enable', uids.blank],
      ['taps', 'list'],
      ['taps', 'stats'],
      ['links', 'list'],
      ['chip-groups', 'list'],
      ['items', 'list'],
      ['contracts', 'list'],
      ['badge-events', 'list'],
      ['webhooks', 'list'],
      ['transactions', 'list'],
      ['audit', 'list'],
      ['teams', 'list'],
      ['api-keys', 'list'],
      ['admin-tokens', 'list'],
      ['batch', 'list', '--all'],
      ['daemon', 'status'],
      ['doctor'],
    ])
      expect([words, (await here.run(...words)).code]).not.toEqual([words, 4])
    ends(await here.run('teams', 'create', '--name', 'x'), 4, 'is for one team')
    Object.assign(here.env, kept)
  })

  test('admin tokens, with scopes', async () => {
    ends(await here.run('admin-tokens', 'create', '--name', 'x'), 2, '--scopes')
    ends(
      await here.run('admin-tokens', 'create', '--name', 'x', '--scopes', 'everything'),
      2,
      '--scopes must be one of',
    )
    const made = (await here.json('admin-tokens', 'create', '--name', 'reader', '--scopes', 'read')) as {
      id: number
      token: string
    }
    const root = here.env.TAPCHIP_ADMIN_TOKEN ?? ''
    here.env.TAPCHIP_ADMIN_TOKEN = made.token
    expect((await here.run('teams', 'list')).code).toBe(0)
    ends(await here.run('teams', 'create', '--name', 'x'), 4, '')
    here.env.TAPCHIP_ADMIN_TOKEN = root
    expect(await here.json('admin-tokens', 'list')).toContainEqual(
      expect.objectContaining({ name: 'reader', team: null, scopes: ['read'] }),
    )
    expect(await here.json('admin-tokens', 'revoke', String(made.id), '--yes')).toEqual({ success: true })
  })
})

test('login tries a key before it is kept', async () => {
  delete here.env.TAPCHIP_API_KEY
  here.stdin = 'svc_wrong\n'
  ends(await here.run('login', '--with-token'), 4, 'Nothing was saved')
  here.stdin = `${acmeKey}\n`
  const may = { kind: 'api-key', name: 'ops', team: 'Acme', scopes: ['all'], expiresAt: null }
  expect((await here.run('login', '--with-token', '--json')).json()).toMatchObject(may)
  // A pipe is read without being told so.
  const piped = await here.run('login')
  expect([piped.code, piped.stdout.replace(/ +/g, ' ')]).toEqual([
    0,
    expect.stringMatching(/Name: ops\nTeam: Acme\nScopes: .*all.*\nValid until: it is revoked/),
  ])
  here.stdin = ''
  ends(await here.run('login'), 2, 'Standard input contains no key.')
  // The key is for the address for which it was saved, however that is named.
  delete here.env.TAPCHIP_ADMIN_TOKEN
  expect(await here.json('chip-groups', 'list')).toHaveLength(2)
  const shown = await here.run('context', 'show', '--json')
  expect(shown.json()).toMatchObject({ origin: 'TAPCHIP_URL', apiKeyOrigin: 'context default' })
  here.env.TAPCHIP_URL = daemon.url.replace('127.0.0.1', 'localhost')
  expect((await here.run('chip-groups', 'list')).code).toBe(4)
  delete here.env.TAPCHIP_URL
  expect(await here.json('chip-groups', 'list')).toHaveLength(2)
})

test('login --status says which keys there are, whence, and whether they are good', async () => {
  const good = await here.run('login', '--status', '--json')
  expect([good.code, good.json()]).toEqual([
    0,
    {
      url: daemon.url,
      context: null,
      apiKey: 'good',
      apiKeyOrigin: 'TAPCHIP_API_KEY',
      adminToken: 'good',
      adminTokenOrigin: 'TAPCHIP_ADMIN_TOKEN',
      apiKeyCredential: { kind: 'api-key', name: 'ops', team: 'Acme', scopes: ['all'], expiresAt: null },
      adminTokenCredential: {
        kind: 'admin-token',
        name: 'root',
        team: null,
        scopes: ['all'],
        expiresAt: null,
      },
    },
  ])
  expect((await here.run('login', '--status')).stdout).toContain(
    'good, from TAPCHIP_API_KEY: "ops" of the team Acme, with all, valid until it is revoked',
  )
  here.env.TAPCHIP_API_KEY = 'svc_wrong'
  const bad = await here.run('login', '--status')
  expect([bad.code, bad.stdout]).toEqual([4, expect.stringContaining('refused, from TAPCHIP_API_KEY')])
  delete here.env.TAPCHIP_API_KEY
  delete here.env.TAPCHIP_ADMIN_TOKEN
  expect((await here.run('login', '--status')).code).toBe(4)
})

test('through a proxy, a key is not blamed for administration that is elsewhere', async () => {
  const to = new URL(here.env.TAPCHIP_URL ?? '')
  const proxy = createServer((request, response) => {
    const headers = { ...request.headers, 'x-forwarded-for': '203.0.113.9' }
    const { method, url: path } = request
    const passed = httpRequest({ host: to.hostname, port: to.port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  const far = cliHome({ TAPCHIP_URL: `http://127.0.0.1:${typeof address === 'object' && address?.port}` })
  try {
    far.stdin = acmeKey
    const saved = await far.run('login', '--with-token')
    expect([saved.code, saved.stderr]).toEqual([0, expect.stringContaining('What it may do is not shown')])
    ends(await far.run('links', 'list'), 4, 'Set TAPCHIP_ADMIN_URL to the address of its administration')
    const found = (await far.run('doctor', '--json')).json()
    expect(found).toContainEqual(expect.objectContaining({ check: 'administration', status: 'warn' }))
    expect(JSON.stringify(found)).not.toContain('admin token')
  } finally {
    far.remove()
    proxy.closeAllConnections()
    proxy.close()
  }
})
