import { expect, test } from 'vitest'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { describeOfFile } from '../support/engines.ts'
import { seed } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})

describeOfFile('the daemon', () => {
  test('the daemon tells how it is, and is backed up', async () => {
    expect(await here.json('daemon', 'status')).toMatchObject({
      running: true,
      database: { sizeBytes: expect.any(Number) },
      badges: { provider: 'embedded', trouble: null },
      readers: { list: expect.any(Array) },
    })
    const findings = (await here.json('doctor')) as { check: string; status: string }[]
    expect(findings.filter(({ status }) => status === 'fail')).toEqual([])
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'node',
        'daemon',
        'clock',
        'API key',
        'admin token',
        'database',
        'badges',
        'readers',
      ]),
    )
    const backup = (list: unknown) => (list as { check: string }[]).filter(({ check }) => check === 'backup')
    expect(backup(findings)).toEqual([
      expect.objectContaining({
        status: 'warn',
        detail: 'none was ever made',
        fix: expect.stringContaining('tapchip backup'),
      }),
    ])
    const bare = await here.run('backup', '--without-data-key')
    ends(bare, 0, 'DATA KEY')
    expect(backup(await here.json('doctor'))).toEqual([expect.objectContaining({ status: 'ok' })])
    here.env.TAPCHIP_BACKUP_PASSPHRASE = 'correct horse battery'
    expect(await here.json('backup')).toMatchObject({ holdsDataKey: true })
  })
})

test('doctor warns of key sets whose chips all share one key', async () => {
  const keySets = async () =>
    ((await here.json('doctor')) as { check: string }[]).filter(({ check }) => check === 'key sets')
  const warned = (words: RegExp) => [
    expect.objectContaining({ status: 'warn', detail: expect.stringMatching(words) }),
  ]
  expect(await keySets()).toEqual(warned(/with the derivation none: 102\./))
  const [metaReadKey, fileReadKey] = ['1', '2'].map((digit) => digit.repeat(32))
  here.stdin = JSON.stringify({ id: 901, diversification: 'none', metaReadKey, fileReadKey })
  await here.json('key-sets', 'create', '--file', '-')
  expect(await keySets()).toEqual(warned(/with the derivation none: 102, 901\./))
  await here.json('key-sets', 'remove', '901', '--yes')
})

test('doctor names the credentials, and warns of one that ends within two weeks', async () => {
  const credentials = async () =>
    ((await here.json('doctor')) as { check: string }[]).filter(({ check }) =>
      ['API key', 'admin token'].includes(check),
    )
  expect(await credentials()).toMatchObject([
    { status: 'ok', detail: '"ops" of the team Acme, with all, valid until it is revoked' },
    { status: 'ok', detail: '"root" of all teams, with all, valid until it is revoked' },
  ])
  const made = async (days: number) => {
    const args = ['--name', `${days} days`, '--team', 'Acme', '--scopes', 'read', '--expires', `${days}d`]
    here.env.TAPCHIP_API_KEY = ((await here.json('api-keys', 'create', ...args)) as { key: string }).key
    return (await credentials())[0]
  }
  expect(await made(3)).toMatchObject({
    status: 'warn',
    detail: expect.stringMatching(
      /^"3 days" of the team Acme, with read, valid until \d.*: it ends in less than 3 days$/,
    ),
    fix: expect.stringContaining('tapchip api-keys create'),
  })
  expect(await made(30)).toMatchObject({ status: 'ok' })
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
  expect(await here.json('doctor')).toContainEqual({
    check: 'settings',
    status: 'warn',
    detail: expect.stringMatching(/^1 requests? came through a proxy\. .*TAPCHIP_TRUST_PROXY/),
    fix: 'correct it and restart the daemon',
  })
})

test('doctor warns of taps whose key set is not here', async () => {
  const taps = async () =>
    ((await here.json('doctor')) as { check: string }[]).filter(({ check }) => check === 'taps')
  expect(await taps()).toEqual([])
  for (const d of [998, 999, 999])
    await fetch(`${daemon.url}/chips/find?d=${d}&e=${'AB'.repeat(16)}&c=${'CD'.repeat(8)}`)
  expect(await taps()).toMatchObject([
    { status: 'warn', detail: 'since yesterday, 3 taps named a key set that is not here: 998, 999' },
  ])
})
