import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { usualLimits as shownLimits } from '../../src/cli/commands/teams/team.ts'
import { usualLimits } from '../../src/daemon/domain/chain/budget.ts'
import { type CliHome, type Ran, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { acmeKey, otherKey, seed, uids } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

const json = async (...args: string[]) => {
  const ran = await here.run(...args, '--json')
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
  return ran.json()
}
const ends = (ran: Ran, code: number, text: string) =>
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(text)])

describe('the team meant', () => {
  test("is the API key's, the one that --team names, or asked for with 2", async () => {
    expect(await json('links', 'list')).toHaveLength(2)
    expect(await json('links', 'list', '--team', 'Other')).toEqual([])
    here.env.TAPCHIP_API_KEY = otherKey
    expect(await json('links', 'list')).toEqual([])
    delete here.env.TAPCHIP_API_KEY
    ends(await here.run('links', 'create', '--label', 'x', '--base-url', 'https://x.example'), 2, '--team')
  })
})

describe('what operators keep', () => {
  test('teams', async () => {
    expect(await json('teams', 'create', 'Third')).toMatchObject({ name: 'Third' })
    expect(await json('teams', 'list')).toMatchObject([
      { name: 'Acme' },
      { name: 'Other' },
      { name: 'Third' },
    ])
    expect(await json('teams', 'remove', 'Third', '--yes')).toEqual({ success: true })
    ends(await here.run('teams', 'remove', 'Third', '--yes'), 1, 'no team "Third"')
    ends(await here.run('teams', 'remove', 'Acme', '--yes'), 1, '')
  })

  test('the limits of a team without its own are those of the daemon', () => {
    expect(shownLimits).toEqual(usualLimits)
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
    expect(await json('teams', 'show', 'Acme')).toMatchObject({ budget: { transactionsPerDay: 500 } })
    ends(await edit(), 2, '--transactions-per-day')
    ends(await edit('--transactions-per-day', '-1'), 2, '')
    ends(await edit('--gas-per-day', 'lots'), 2, '--gas-per-day must be a whole number')
    ends(await here.run('teams', 'edit', 'Nobody', '--gas-per-day', '1'), 1, 'no team "Nobody"')
    expect((await edit('--transactions-per-day', 'default', '--json')).json()).toMatchObject({
      budget: { transactionsPerDay: null, gasPerDay: null },
    })
  })

  test('API keys: shown once, and worth nothing when revoked', async () => {
    const made = (await json(
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
    expect(await json('api-keys', 'revoke', String(made.id), '--yes')).toEqual({ success: true })
    const refused = await here.run('items', 'list')
    ends(refused, 4, 'tapchip login')
  })

  test('admin tokens, with scopes', async () => {
    ends(await here.run('admin-tokens', 'create', '--name', 'x'), 2, '--scopes')
    ends(
      await here.run('admin-tokens', 'create', '--name', 'x', '--scopes', 'everything'),
      2,
      '--scopes must be one of',
    )
    const made = (await json('admin-tokens', 'create', '--name', 'reader', '--scopes', 'read')) as {
      id: number
      token: string
    }
    const root = here.env.TAPCHIP_ADMIN_TOKEN ?? ''
    here.env.TAPCHIP_ADMIN_TOKEN = made.token
    expect((await here.run('teams', 'list')).code).toBe(0)
    ends(await here.run('teams', 'create', '--name', 'x'), 4, '')
    here.env.TAPCHIP_ADMIN_TOKEN = root
    expect(await json('admin-tokens', 'list')).toMatchObject([{ name: 'reader', scopes: ['read'] }])
    expect(await json('admin-tokens', 'revoke', String(made.id), '--yes')).toEqual({ success: true })
  })

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
      await json('key-sets', 'create', '--id', '203', '--diversification', 'none', '--mac-input-from', 'd'),
    ).toMatchObject({ id: 203, macInputFrom: 'd' })
    const listed = await here.run('key-sets', 'list', '--json')
    expect(made.stdout + listed.stdout + (await here.run('audit', 'list', '--json')).stdout).not.toContain(
      key,
    )
    expect(await json('key-sets', 'remove', '203', '--yes')).toEqual({ success: true })
    ends(await here.run('key-sets', 'remove', '101', '--yes'), 1, '')
    writeFileSync(join(here.home, 'keys.json'), key)
    const broken = await here.run('key-sets', 'create', '--file', 'keys.json')
    ends(broken, 2, 'keys.json')
    expect(broken.stderr).not.toContain(key)
  })

  test('chip groups, by name or by id', async () => {
    const { id } = (await json('chip-groups', 'create', '--name', 'Caps')) as { id: number }
    expect(await json('chip-groups', 'rename', 'Caps', '--name', 'Hats')).toMatchObject({ id, name: 'Hats' })
    expect(await json('chips', 'list', '--chip-group', String(id))).toEqual([])
    expect(await json('chip-groups', 'remove', String(id), '--yes')).toEqual({ success: true })
    ends(await here.run('chips', 'list', '--chip-group', 'Hats'), 1, '')
    ends(await here.run('chip-groups', 'remove', 'Jackets', '--yes'), 1, '')
  })

  test('items', async () => {
    writeFileSync(
      join(here.home, 'cap.json'),
      JSON.stringify({ id: 'cap', name: 'Cap', contract: 'JKT', variants: [{ id: 'one', attributes: [] }] }),
    )
    expect(await json('items', 'create', '--file', 'cap.json', '--description', 'Warm')).toMatchObject({
      id: 'cap',
      description: 'Warm',
      variants: [{ id: 'one' }],
    })
    expect(await json('items', 'edit', 'cap', '--name', 'Big cap')).toMatchObject({
      name: 'Big cap',
      description: 'Warm',
    })
    expect(await json('items', 'show', 'cap')).toMatchObject({ id: 'cap' })
    expect(await json('items', 'list')).toMatchObject([{ id: 'jacket' }, { id: 'cap' }])
    expect(await json('items', 'list', '--team', 'Other')).toMatchObject([{ id: 'other-item' }])
    expect(await json('items', 'chips', 'jacket')).toHaveLength(2)
    ends(await here.run('items', 'edit', 'cap'), 2, '--name')
    expect(await json('items', 'remove', 'cap', '--yes')).toEqual({ success: true })
    ends(await here.run('items', 'show', 'cap'), 1, '')
  })

  test('links and contracts', async () => {
    const { id } = (await json(
      'links',
      'create',
      '--label',
      'New',
      '--base-url',
      'https://new.example/tap',
    )) as { id: number }
    expect(await json('links', 'remove', String(id), '--yes')).toEqual({ success: true })
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
    expect(await json(...args, '--two-tap-delay', '60', '--two-tap-window', '3600')).toMatchObject({
      symbol: 'OLD',
      address,
    })
    expect((await here.run('contracts', 'list')).stdout).toContain('60 s, 3600 s')
  })

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
    expect(first.stderr).toBe(`The newest 2; older ones: --before ${all[1]?.id}\n`)
    const exact = await here.run('audit', 'list', '--action', 'links.create', '--limit', String(all.length))
    expect(exact.stderr).toBe('')
    expect((await here.run('audit', 'list', '--help')).stdout).toContain('(default: 100)')
    for (const noun of ['taps', 'transactions'])
      expect((await here.run(noun, 'list', '--limit', '1000', '--json')).code).toBe(0)
  })

  test('the daemon tells how it is, and is backed up', async () => {
    expect(await json('daemon', 'status')).toMatchObject({
      running: true,
      database: { sizeBytes: expect.any(Number) },
    })
    const findings = (await json('doctor')) as { check: string; status: string }[]
    expect(findings.filter(({ status }) => status === 'fail')).toEqual([])
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['node', 'daemon', 'clock', 'API key', 'admin token', 'database']),
    )
    const bare = await here.run('backup', '--without-data-key')
    ends(bare, 0, 'DATA KEY')
    here.env.TAPCHIP_BACKUP_PASSPHRASE = 'correct horse battery'
    expect(await json('backup')).toMatchObject({ holdsDataKey: true })
  })
})

describe('a chip', () => {
  const uid = '04:C7:67:F2:06:61:80'
  test('is shown in both forms, linked, unlinked, disabled and enabled', async () => {
    expect((await here.run('chips', 'show', uid)).stdout).toMatch(
      /^UID: +1345149162905984\nHex: +04:C7:67:F2:06:61:80\n/,
    )
    expect(await json('chips', 'link', uid, '--item', 'jacket', '--variant', 's')).toMatchObject({
      item: { id: 'jacket' },
    })
    expect(await json('chips', 'unlink', uid, '--item', '--yes')).toMatchObject({ item: null })
    ends(await here.run('chips', 'link', uid), 2, '--item')
    ends(await here.run('chips', 'link', uid, '--token-id', '1'), 2, 'together')
    expect(await json('chips', 'disable', uid, '--reason', 'stolen', '--yes')).toMatchObject({
      disabledReason: 'stolen',
    })
    expect(await json('chips', 'enable', uid)).toMatchObject({ disabledAt: null })
  })

  test('is replaced and removed', async () => {
    const replaced = await here.run('chips', 'replace', uids.plain, '--with', uids.blank, '--yes', '--json')
    expect([replaced.code, replaced.stderr]).toEqual([0, `At ${daemon.url} (TAPCHIP_URL), team Acme\n`])
    expect(await json('chips', 'remove', uids.listed, '--yes')).toEqual({ success: true })
    ends(await here.run('chips', 'show', uids.listed), 1, '')
  })
})

describe('a dry run', () => {
  test('of any command shows the request, and sends none', async () => {
    const before = await json('teams', 'list')
    const ran = await here.run('teams', 'create', 'Dry', '--dry-run')
    expect([ran.code, ran.stdout]).toEqual([0, `POST ${daemon.url}/admin/teams {"name":"Dry"}\n`])
    const removed = await here.run('teams', 'remove', 'Acme', '--dry-run', '--json')
    expect(removed.json()).toEqual({ dryRun: true, method: 'DELETE', url: `${daemon.url}/admin/teams/1` })
    expect(await json('teams', 'list')).toEqual(before)
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
    expect(await json('context', 'list')).toEqual([])
  })
})

test('doctor fails when something is wrong, and says the fix', async () => {
  here.env.TAPCHIP_API_KEY = 'svc_wrong'
  const ran = await here.run('doctor')
  expect(ran.code).toBe(1)
  expect(ran.stdout).toMatch(/^fail {2}API key: .*[^.]\. Fix: tapchip login$/m)
  expect(ran.stderr).toMatch(/^\d checks? failed\.\n$/)
  const away = await here.run('doctor', '--json', '--url', 'http://127.0.0.1:1')
  expect(away.json()).toContainEqual({
    check: 'daemon',
    status: 'fail',
    detail: 'Daemon not reachable at 127.0.0.1:1 (address from --url)',
    fix: 'start it: tapchip daemon start',
  })
})

test('doctor tells of a proxy that the daemon was not told of', async () => {
  await fetch(`${daemon.url}/refs/x`, { headers: { 'x-forwarded-for': '203.0.113.9' } })
  expect(await json('doctor')).toContainEqual({
    check: 'settings',
    status: 'warn',
    detail: expect.stringMatching(/^1 requests? came through a proxy\. .*TAPCHIP_TRUST_PROXY/),
    fix: 'correct it, and start the daemon again',
  })
})

test('login tries a key before it is kept', async () => {
  delete here.env.TAPCHIP_API_KEY
  here.stdin = 'svc_wrong\n'
  ends(await here.run('login', '--with-token'), 4, 'Nothing was kept')
  here.stdin = `${acmeKey}\n`
  ends(await here.run('login', '--with-token'), 0, 'TAPCHIP_URL is set')
  // A pipe is read without being told so.
  ends(await here.run('login'), 0, 'TAPCHIP_URL is set')
  here.stdin = ''
  ends(await here.run('login'), 2, 'Standard input holds no key.')
  delete here.env.TAPCHIP_URL
  expect(await json('chip-groups', 'list')).toHaveLength(2)
})
