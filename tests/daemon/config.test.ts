import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readArguments } from '../../src/daemon/config/arguments.ts'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { settings } from '../../src/daemon/config/settings.ts'
import { help } from '../../src/daemon/process/help.ts'
import { startWarnings } from '../../src/daemon/process/start-warnings.ts'
import { openTestApp, startTestDaemon } from '../support/daemon.ts'
import { derived } from '../support/seeds.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapchip-config-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const none = { help: false, version: false, configFile: undefined, values: {} }
const load = (env: Record<string, string>) => loadConfig(none, env)
const loadFile = (content: object, env: Record<string, string> = {}) => {
  const configFile = join(folder, 'config.json')
  writeFileSync(configFile, JSON.stringify(content))
  return loadConfig({ ...none, configFile }, env)
}
const rpc = 'https://rpc.example'

test('the number of relayers is a setting of the embedded chain too, which has no RPC URL', () => {
  const { chains, keySettings, warnings } = load({
    TAPCHIP_RELAYERS_31337: '3',
    TAPCHIP_RELAYER_KEY_31337_3: '11'.repeat(32),
    TAPCHIP_RELAYER_KEY_31337_4: '12'.repeat(32),
  })
  expect(chains).toEqual([])
  expect(keySettings.get(31337)).toMatchObject({ relayers: 3 })
  expect(warnings).toEqual([
    'TAPCHIP_RELAYER_KEY_31337_4 is ignored: set TAPCHIP_RELAYERS_31337 to 4 to use it.',
  ])
  expect(() => load({ TAPCHIP_RELAYERS_7: '3' })).toThrow('Chain 7 has settings but no RPC URL')
  expect(() => load({ TAPCHIP_RELAYERS_31337: '3', TAPCHIP_MAX_GAS_31337: '200000' })).toThrow('no RPC URL')
})

test.each([
  ['http://127.0.0.1:9000', true],
  ['http://localhost:9000/', true],
  ['http://[::1]:9000', true],
  ['https://signer.example/path', true],
  ['http://10.0.0.7:9000', false],
  ['http://signer.example', false],
  ['https://user:word@signer.example', false],
  ['https://signer.example/?key=secret', false],
  ['127.0.0.1:9000', false],
])('a signer is reached by https, and by http on this machine alone: %s', (url, isTaken) => {
  const env = { TAPCHIP_SIGNER_31337: url, TAPCHIP_RELAYER_KEY_31337: '11'.repeat(32) }
  if (isTaken) {
    const { keySettings, warnings } = load(env)
    expect(keySettings.get(31337)?.signer).toBe(url)
    expect(warnings).toEqual([
      "TAPCHIP_RELAYER_KEY_31337 is ignored: the signer of TAPCHIP_SIGNER_31337 has the relayers' keys.",
    ])
  } else {
    expect(() => load(env)).toThrow(/^TAPCHIP_SIGNER_31337 must be an https URL/)
    expect(() => load(env)).not.toThrow(/secret|word@/)
  }
})

test('every relayer of the embedded chain sends by its own name and has money', async () => {
  const daemon = await startTestDaemon({ chain: true, env: { TAPCHIP_RELAYERS_31337: '3' } })
  try {
    const { relayer, embedded } = daemon.ctx.chains
    const status = relayer.status()
    expect(status.map(({ signer }) => signer)).toEqual(['relayer', 'relayer-2', 'relayer-3'])
    for (const { address } of status)
      expect(await embedded?.request({ method: 'eth_getBalance', params: [address, 'latest'] })).not.toBe(
        '0x0',
      )
  } finally {
    await daemon.stop()
  }
})

describe('a setting of a chain that does not fit is named by', () => {
  test.each([
    [
      { rcp: rpc },
      'chains.84532.rcp is not a setting (known: rpc, confirmations, maxFeeGwei, minTipGwei, maxTipGwei, maxGas, expiryBlocks, relayers, signer)',
    ],
    [{ rpc, confirmations: 0 }, 'chains.84532.confirmations must be a number from 1 to 9999'],
    [{ rpc: 'rpc.example' }, 'chains.84532.rpc must be an http(s) URL'],
    [{ rpc: [rpc, 'rpc.example'] }, 'chains.84532.rpc must be an http(s) URL'],
    [{ rpc: [] }, 'chains.84532.rpc must be an http(s) URL'],
    [{ rpc, maxGas: 199_999 }, 'chains.84532.maxGas must be a number from 200000 to 10000000000'],
    [
      { rpc, minTipGwei: 30, maxTipGwei: '25' },
      'chains.84532.minTipGwei is 30 gwei, more than chains.84532.maxTipGwei allows (25).',
    ],
    [
      { rpc, minTipGwei: 300 },
      'chains.84532.minTipGwei is 300 gwei, more than TAPCHIP_MAX_FEE_GWEI_84532 allows (200).',
    ],
  ])('its path in the file: %j', (settings, message) => {
    expect(() => loadFile({ chains: { 84532: settings } })).toThrow(message)
  })

  test.each([0, 17, 'two'])('its path, where it is no number of relayers: %j', (relayers) => {
    const message = 'chains.84532.relayers must be a number from 1 to 16'
    expect(() => loadFile({ chains: { 84532: { rpc, relayers } } })).toThrow(message)
  })

  test('the chain, where that is no number', () => {
    expect(() => loadFile({ chains: { base: { rpc } } })).toThrow('chains.base must be a chain id')
    expect(() => loadFile({ chain: {} })).toThrow('chain (TAPCHIP_CHAIN) is not a setting')
  })

  test('the variable that it came from, also over a file', () => {
    const env = { TAPCHIP_RPC_84532: 'rpc.example' }
    expect(() => load(env)).toThrow(/^TAPCHIP_RPC_84532 must be an http\(s\) URL$/)
    expect(() => loadFile({ chains: { 84532: { rpc } } }, env)).toThrow(/^TAPCHIP_RPC_84532 must/)
    const more = { TAPCHIP_RPC_84532: rpc, TAPCHIP_MAX_FEE_GWEI_84532: 'lots' }
    expect(() => load(more)).toThrow(/^TAPCHIP_MAX_FEE_GWEI_84532 must be an amount of gwei/)
  })
})

test('a chain has one RPC URL or several, and limits of its tips and of gas', () => {
  const env = {
    TAPCHIP_RPC_1: ` ${rpc}/a , ,https://other.example, ${rpc}/a`,
    TAPCHIP_MIN_TIP_GWEI_1: '0.05',
    TAPCHIP_MAX_TIP_GWEI_1: '2',
    TAPCHIP_MAX_GAS_1: '3000000',
  }
  const { chains } = loadFile({ chains: { 1: { rpc }, 2: { rpc: [rpc, 'https://other.example'] } } }, env)
  expect(chains).toMatchObject([
    {
      rpcUrls: [`${rpc}/a`, 'https://other.example'],
      minTip: 50_000_000n,
      maxTip: 2_000_000_000n,
      maxGas: 3_000_000,
    },
    { rpcUrls: [rpc, 'https://other.example'], minTip: 0n, maxTip: undefined, maxGas: 2_000_000 },
  ])
})

test('explorers are known for well-known chains, and set for others by variable, then by file, over https alone', () => {
  const { explorers } = loadFile(
    { explorers: { 8453: 'https://file.example', 999: 'https://scan.example/x/' } },
    { TAPCHIP_EXPLORER_8453: 'https://own.example/' },
  )
  const token = { chainId: 1, contractAddress: '0xAb', tokenId: '7' }
  expect(explorers.transaction(8453, '0x12')).toBe('https://own.example/tx/0x12')
  expect(explorers.transaction(999, '0x12')).toBe('https://scan.example/x/tx/0x12')
  expect(explorers.token(token)).toBe('https://etherscan.io/token/0xAb?a=7')
  expect(explorers.transaction(31337, '0x12')).toBeUndefined()
  expect([explorers.chainName(8453), explorers.chainName(31337)]).toEqual(['Base', 'Chain 31337'])
  const url = /^TAPCHIP_EXPLORER_1 must be an https URL/
  for (const wrong of ['http://scan.example', 'javascript:alert(1)', 'https://scan.example/?x'])
    expect(() => load({ TAPCHIP_EXPLORER_1: wrong })).toThrow(url)
  expect(() => loadFile({ explorers: { 1: 'http://scan.example' } })).toThrow(/^explorers\.1 must be/)
})

test('each setting is a flag as well, but secrets and the settings of chains', () => {
  const { values } = readArguments(['--ref-ttl-seconds', '60', '--dev-chain', 'off', '--ephemeral'])
  const given = loadConfig({ ...none, values }, { TAPCHIP_REF_TTL_SECONDS: '90' })
  expect(given).toMatchObject({ refLifetimeMs: 60_000, devChain: false, ephemeral: true })
  const flagOf = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  const refused = Object.keys(settings.shape).filter((name) => {
    try {
      readArguments([name === 'ephemeral' ? flagOf(name) : `${flagOf(name)}=x`])
      return false
    } catch {
      return true
    }
  })
  const secrets = [
    'adminToken',
    'dataKey',
    'backupPassphrase',
    'openseaApiKey',
    'poapApiKey',
    'poapClientSecret',
    'smtpUrl',
  ]
  expect(refused.sort()).toEqual([...secrets, 'chains', 'databaseUrl', 'explorers'].sort())
})

describe('every setting that does not fit is refused in the words of the daemon', () => {
  const names = Object.keys(settings.shape)
  const odd = [
    true,
    -1,
    1.5,
    1e12,
    '',
    ' ',
    'ä',
    '1'.repeat(300),
    'a@b.'.padEnd(300, 'c'),
    [],
    [1],
    {},
    { '': 1 },
    null,
  ]

  test.each(names)('%s', (setting) => {
    const messages = odd.flatMap((value) => {
      try {
        loadFile({ [setting]: value })
        return []
      } catch (error) {
        return [String(error)]
      }
    })
    expect(messages.length).toBeGreaterThan(0)
    for (const message of messages) {
      expect(message).toMatch(new RegExp(`^ConfigProblem: .*${setting}`))
      expect(message).not.toMatch(/[Ii]nvalid|expected|Too (big|small)|received|undefined/)
    }
  })

  test.each([
    ['TAPCHIP_LOG_LEVEL', 'loud'],
    ['TAPCHIP_TRUST_PROXY', 'everyone'],
    ['TAPCHIP_WIRE_PREFIX', 'A B'],
    ['TAPCHIP_KEY_RATE_LIMIT', '0'],
    ['TAPCHIP_ADMIN_TOKEN', 'fifteen-letters'],
    ['TAPCHIP_SMTP_URL', 'smtp://tags:100%sure@mail.example'],
  ])('%s as %s', (variable, text) => {
    expect(() => load({ [variable]: text })).toThrow(`(${variable}) must`)
  })

  test('with the bounds of a number', () => {
    const message = 'port (TAPCHIP_PORT) must be a number from 0 to 65535'
    for (const port of ['65536', '-1', 'x']) expect(() => load({ TAPCHIP_PORT: port })).toThrow(message)
    for (const port of [65_536, 1.5, true]) expect(() => loadFile({ port })).toThrow(message)
    expect(() => load({ TAPCHIP_RATE_LIMIT: '0' })).toThrow('must be off, or a number from 1 to 1000000000')
  })
})

test('what only `tapchip dev` may have is refused to a daemon that keeps its data, and is no setting', () => {
  const dev = { ...none, dev: true }
  expect(() => loadConfig(dev, {})).toThrow(/^--dev lets a ref be queried twice.*--ephemeral/)
  expect(loadConfig({ ...dev, values: { ephemeral: true } }, {}).dev).toBe(true)
  expect(() => loadFile({ dev: true })).toThrow('dev (TAPCHIP_DEV) is not a setting')
  const { dev: isDev, warnings } = load({ TAPCHIP_DEV: 'on', TAPCHIP_EPHEMERAL: 'on' })
  expect([isDev, warnings]).toEqual([false, [expect.stringContaining('TAPCHIP_DEV is not a variable')]])
})

test('origins that may use the RPC of the embedded chain are taken apart, and nonsense is refused', () => {
  const origins = (text: string) => load({ TAPCHIP_DEV_RPC_ORIGINS: text }).devRpcOrigins
  expect(origins('http://localhost:*, https://app.example,chrome-extension://*')).toEqual([
    'http://localhost:*',
    'https://app.example',
    'chrome-extension://*',
  ])
  for (const odd of [
    '*',
    'null',
    'http://*',
    'https://app.example/',
    'localhost:3000',
    'http://localhost:*,',
  ])
    expect(() => origins(odd), odd).toThrow('devRpcOrigins (TAPCHIP_DEV_RPC_ORIGINS) must be origins')
})

describe('what is set and has no effect', () => {
  test('is warned of: a name that is mistyped, a chain that is no number, keys without a chain', () => {
    const { warnings } = load({
      TAPCHIP_BASEURL: 'https://tap.example',
      TAPCHIP_SOMETHING: 'x',
      TAPCHIP_RPC_BASE: rpc,
      TAPCHIP_RELAYER_KEY_84532: 'secret-1',
      TAPCHIP_SIGN_VERIFIER_KEY_84532: 'secret-2',
      TAPCHIP_RPC_10: rpc,
      TAPCHIP_RELAYER_KEY_10: 'secret-3',
    })
    expect(warnings).toEqual([
      'TAPCHIP_BASEURL is not a variable of the daemon and is ignored. Did you mean TAPCHIP_BASE_URL?',
      'TAPCHIP_RELAYER_KEY_84532 is ignored: chain 84532 has no RPC URL. Set TAPCHIP_RPC_84532 to use the chain.',
      'TAPCHIP_RPC_BASE is ignored: TAPCHIP_RPC_ must be followed by a chain id, such as 8453, not by "BASE".',
      'TAPCHIP_SIGN_VERIFIER_KEY_84532 is ignored: chain 84532 has no RPC URL. Set TAPCHIP_RPC_84532 to use the chain.',
      'TAPCHIP_SOMETHING is not a variable of the daemon and is ignored. See tapchipd --help.',
    ])
  })

  test('is nothing that the help names, and nothing that the CLI reads', () => {
    const named = help.match(/TAPCHIP_[A-Z_]*[A-Z](?![A-Z_…<])/g) ?? []
    expect(named.length).toBeGreaterThan(15)
    const cli = [
      'URL',
      'ADMIN_URL',
      'API_KEY',
      'CONTEXT',
      'ADMIN_TOKEN',
      'DEBUG',
      'BACKUP_PASSPHRASE',
      'META_READ_KEY',
    ]
    const fits: Record<string, string> = {
      TAPCHIP_RATE_LIMIT: 'off',
      TAPCHIP_ADMIN_TOKEN: 'adm_long-enough-0123456789',
      TAPCHIP_TRUST_PROXY: '1',
      TAPCHIP_BADGE_PROVIDER: 'embedded',
      TAPCHIP_BADGE_APPROVAL: 'auto',
      TAPCHIP_WIRE_PREFIX: 'svc',
      TAPCHIP_WIRE_BADGE: 'badge',
      TAPCHIP_DATABASE_CONNECTIONS: '24',
      TAPCHIP_DEV_RPC: 'full',
      TAPCHIP_DEV_RPC_ORIGINS: 'http://localhost:*',
      TAPCHIP_OPENSEA_URL: rpc,
      TAPCHIP_IPFS_GATEWAY: 'https://ipfs.example/',
      TAPCHIP_ARWEAVE_GATEWAY: 'https://arweave.example',
      TAPCHIP_ADMIN_LISTEN: '[::1]:0',
      TAPCHIP_HOST: 'localhost',
      TAPCHIP_DATABASE_URL: 'postgres://127.0.0.1/tapchip',
      TAPCHIP_DATA_KEY: '0'.repeat(64),
      TAPCHIP_CONFIG: '',
      TAPCHIP_SMTP_URL: 'smtp://mail.example:587',
      TAPCHIP_SMTP_FROM: 'taps@acme.example',
    }
    const all = [...new Set([...named, ...cli.map((name) => `TAPCHIP_${name}`)])]
    expect(load(Object.fromEntries(all.map((name) => [name, fits[name] ?? '1']))).warnings).toEqual([])
    expect(load({ TAPCHIP_DEV_CHAIN: 'on', TAPCHIP_RELAYER_KEY_31337: 'x' }).warnings).toEqual([])
    expect(load({ TAPCHIP_DEV_CHAIN: 'off', TAPCHIP_RELAYER_KEY_31337: 'x' }).warnings).toHaveLength(1)
  })

  test('stands in the log of the start', async () => {
    const lines: string[] = []
    const log = (line: string) => lines.push(line)
    const daemon = await startTestDaemon({ env: { TAPCHIP_RATE_LIMTI: '10' }, log })
    await daemon.stop()
    const line = lines.map((text) => JSON.parse(text)).find(({ msg }) => msg.includes('TAPCHIP_RATE_LIMTI'))
    expect(line).toMatchObject({
      level: 40,
      msg: expect.stringContaining('Did you mean TAPCHIP_RATE_LIMIT?'),
    })
  })
})

test("the keystore's password file is for the daemon alone: that others can read it is warned of", () => {
  const passwordFile = join(folder, 'keystore.password')
  writeFileSync(passwordFile, 'secret')
  const env = { TAPCHIP_KEYSTORE: folder, TAPCHIP_KEYSTORE_PASSWORD_FILE: passwordFile }
  chmodSync(passwordFile, 0o640)
  expect(startWarnings(load(env))).toEqual([
    expect.stringMatching(/keystore\.password can be read by others \(mode 640\).*chmod 600/),
  ])
  chmodSync(passwordFile, 0o600)
  expect(startWarnings(load(env))).toEqual([])
  // That it is missing is said where it is needed.
  rmSync(passwordFile)
  expect(startWarnings(load(env))).toEqual([])
})

test.each([
  [{}, true],
  [{ TAPCHIP_HOST: '::1' }, true],
  [{ TAPCHIP_BASE_URL: 'http://127.0.0.1:8484' }, true],
  [{ TAPCHIP_BASE_URL: 'http://192.168.1.20:8484', TAPCHIP_HOST: '0.0.0.0' }, false],
  [{ TAPCHIP_BASE_URL: 'https://tap.example', TAPCHIP_TRUST_PROXY: '1' }, false],
])('that links in mails would lead nowhere is warned of: %j %s', (env, isWarned) => {
  const mail = { TAPCHIP_SMTP_URL: 'smtp://mail.example', TAPCHIP_SMTP_FROM: 'tags@acme.example' }
  const warning = expect.stringMatching(/^The links in mails lead to .*TAPCHIP_BASE_URL/)
  expect(startWarnings(load({ ...env, ...mail }))).toEqual(isWarned ? [warning] : [])
  expect(startWarnings(load(env))).toEqual([])
})

test('a seed that gives tokens of somebody else’s contract an owner is told that nothing mints them', async () => {
  const lines: string[] = []
  const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
  const chip = (n: number, contract: string) => ({
    uid: `04DE5F1EACC04${n}`,
    keySet: 101,
    token: { contract, tokenId: String(n), owner: address },
  })
  const daemon = await openTestApp({
    log: (line) => lines.push(line),
    seed: {
      version: 1,
      keySets: [derived],
      teams: [
        {
          name: 'Acme',
          contracts: [
            { symbol: 'OLD', name: 'Old', chainId: 1, address },
            { symbol: 'JKT', name: 'Jackets', chainId: 31337 },
          ],
          chipGroups: [{ name: 'All', chips: [chip(1, 'OLD'), chip(2, 'JKT')] }],
        },
      ],
    },
  })
  await daemon.close()
  const warned = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
  expect(warned).toMatchObject([{ msg: expect.stringMatching(/^token 1 of OLD is not minted/), address }])
})
