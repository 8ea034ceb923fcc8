import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { acmeKey, seed } from '../support/seeds.ts'

let here: CliHome
beforeEach(() => {
  here = cliHome({ PATH: process.env.PATH ?? '' })
})
afterEach(async () => {
  await here.run('daemon', 'stop')
  here.remove()
})

const hex = (digits: number) => '0123456789abcdef'.repeat(8).slice(0, digits)
const adminToken = 'adm_planted-0123456789abcdef'

/** Secrets in the environment of the shell that starts the daemon. */
const environment = {
  TAPCHIP_ADMIN_TOKEN: adminToken,
  TAPCHIP_POAP_API_KEY: 'poap-api-planted',
  TAPCHIP_POAP_CLIENT_ID: 'poap-client-planted',
  TAPCHIP_POAP_CLIENT_SECRET: 'poap secret planted',
  TAPCHIP_POAP_EMAIL: 'poap.planted@example.com',
  TAPCHIP_OPENSEA_API_KEY: 'opensea planted',
  TAPCHIP_RPC_8453: 'http://127.0.0.1:1/v3/rpc-key-planted?k=1, http://127.0.0.1:2/rpc-other-planted',
  TAPCHIP_RELAYER_KEY_8453: `0x${hex(60)}aaaa`,
  TAPCHIP_SIGN_VERIFIER_KEY_8453: `0x${hex(60)}cccc`,
  TAPCHIP_BACKUP_PASSPHRASE: 'correct planted battery',
}

/** Secrets as they could get into a log by a mistake of ours. */
const inLog = {
  key: `${hex(28)}beef`,
  privateKey: `0x${hex(60)}bbbb`,
  otp: 'V1StGXR8_Z5jdHi6B-myT',
  ref: '7dashed-ABCdefGHIjkl0',
  tapUrl: `https://tap.example.com/t?e=${hex(32).toUpperCase()}&c=${hex(16).toUpperCase()}`,
  mac: '94EED9EE65337086',
  mail: 'guest.planted@example.org',
  recipient: 'planted.eth',
  device: 'device planted',
  node: 'wss://user:pw-planted@node.example/ws/node-key-planted',
  database: 'postgres://tapchip:db-planted@db.example/tapchip',
  apiKey: 'svc_planted-key_0123',
  webhook: 'whsec_plantedMfKQ9r8GKYqrTwjU',
} as const
const { recipient, device, ...bare } = inLog

const planted = [
  ...Object.values(environment),
  ...Object.values(inLog),
  acmeKey,
  'rpc-key-planted',
  'rpc-other-planted',
  'pw-planted',
  'node-key-planted',
  'db-planted',
  'poap.planted',
  hex(16),
  hex(16).toUpperCase(),
]
const expectNone = (report: string, secrets: readonly string[]) => {
  for (const secret of secrets) expect([secret, report.includes(secret)]).toEqual([secret, false])
}

test('a report has what helps, and none of the secrets of any kind', async () => {
  writeFileSync(join(here.home, 'seed.json'), JSON.stringify(seed))
  Object.assign(here.env, environment)
  const started = await here.run('daemon', 'start', '--port', '0', '--seed', 'seed.json', '--json')
  expect([started.code, started.code === 0 ? '' : started.stderr]).toEqual([0, ''])
  const { url, dataDir, logFile } = started.json() as { url: string; dataDir: string; logFile: string }
  for (const name of Object.keys(environment)) delete here.env[name]
  // The shell that reports knows less than the one that started the daemon.
  Object.assign(here.env, { TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: adminToken, TAPCHIP_API_KEY: acmeKey })
  const lines = [
    { level: 50, requestId: 'abc123-1', msg: `failed for ${Object.values(bare).join(' and ')}` },
    { level: 50, msg: 'a batch', recipient, deviceId: device, list: [{ otp: inLog.otp }], [inLog.key]: 1 },
    { level: 30, msg: Object.values(environment).join(' ') },
  ]
  appendFileSync(
    logFile,
    `${lines.map((line) => JSON.stringify(line)).join('\n')}\nnot JSON: ${inLog.tapUrl}\n`,
  )

  const made = await here.run('bugreport', '--out', 'report.json', '--json')
  expect([made.code, made.code === 0 ? '' : made.stderr]).toEqual([0, ''])
  const path = join(here.home, 'report.json')
  expect(made.json()).toMatchObject({ path, sizeBytes: statSync(path).size })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const text = readFileSync(path, 'utf8')
  const key = readFileSync(join(dataDir, 'data.key'), 'utf8').trim()
  const keySets = seed.keySets.flatMap((set) =>
    Object.values(set).filter((value) => /^[0-9a-f]{32}$/i.test(String(value))),
  )
  expect(keySets.length).toBeGreaterThan(0)
  expectNone(text, [...planted, key, here.home, ...keySets.map(String)])

  const report = JSON.parse(text)
  expect(report).toMatchObject({
    about: { check: expect.stringContaining('Read it before') },
    versions: { tapchip: expect.any(String), node: process.version },
    daemon: { schema: expect.any(String), database: { sizeBytes: expect.any(Number) } },
    settings: { credentials: { api: 'TAPCHIP_API_KEY', admin: 'TAPCHIP_ADMIN_TOKEN' } },
    doctor: expect.arrayContaining([expect.objectContaining({ check: 'database', status: 'ok' })]),
    batches: [],
    log: expect.arrayContaining([
      expect.objectContaining({ msg: 'listening' }),
      expect.objectContaining({ requestId: 'abc123-1', level: 50 }),
      {
        level: 50,
        msg: 'a batch',
        recipient: '(secret)',
        deviceId: '(secret)',
        list: [{ otp: '(secret)' }],
        '(32 hex digits)': 1,
      },
    ]),
  })
  expect(Object.values(report.files).flat()).toContainEqual(
    expect.objectContaining({ path: 'tapchip.db', mode: '600' }),
  )

  const again = await here.run('bugreport', '--out', 'report.json')
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining('report.json exists. Nothing was written.'),
  ])
})

test('a report is made when no daemon answers, and by --out - on standard output', async () => {
  mkdirSync(join(here.home, '.local/share/tapchip'), { recursive: true })
  writeFileSync(join(here.home, '.local/share/tapchip/admin.token'), `${adminToken}\n`)
  here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
  const made = await here.run('bugreport', '--out', '-')
  expect(made.code).toBe(0)
  const report = made.json()
  expect(report).toMatchObject({
    daemon: { missing: expect.stringContaining('No API key, and no admin token') },
    doctor: expect.arrayContaining([expect.objectContaining({ check: 'daemon', status: 'fail' })]),
    log: { missing: expect.stringContaining('There is no log') },
  })
  expectNone(made.stdout, [adminToken, here.home])
  const file = await here.run('bugreport')
  expect([file.code, file.stdout]).toEqual([
    0,
    expect.stringMatching(/^Report: +\S+tapchip-bugreport-[\dT-]+\.json\nSize: /),
  ])
  expect(file.stderr).toContain('Read it before you share it.')
})
