import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { uidToHex } from '../../src/nfc/uid.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { foreignChip, theirKeysInHex as keys } from '../support/foreign-chips.ts'
import { type Chip, nfcSeed } from '../support/nfc.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let at: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  at = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => at.remove())

const nfc = (...args: string[]) => at.run('nfc', ...args, '--reader', 'emulator', '--timeout', '1')
const state = () => join(at.home, '.local/state/tapchip')
/** Leaves a chip on the emulated reader. */
const put = (chip: Chip): Chip => {
  mkdirSync(state(), { recursive: true })
  writeFileSync(join(state(), 'emulator.json'), JSON.stringify(chip.chip.toJSON()))
  return chip
}
const memory = () =>
  VirtualNtag424.fromJSON(JSON.parse(readFileSync(join(state(), 'emulator.json'), 'utf8'))).memory
const fileOf = (name: string, value: unknown): string => {
  const path = join(at.home, name)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}
const [k0, k1, k2, k3, k4] = keys
const wipe = { version: 1, action: 'wipe', k0, k1, k2, k3, k4 }
const setUp = [
  'provision',
  '--key-set',
  '201',
  '--chip-group',
  'Jackets',
  '--team',
  'Acme',
  '--accept-url',
] as const

test.each<[string, unknown]>([
  ['a wipe file', wipe],
  ['JSON with five keys in any order', { k4, k3: `0x${k3}`, k2: k2?.toUpperCase(), k1, k0 }],
  ['a list in JSON', keys],
  ['a key per line', `${keys.join('\n')}\n`],
])('nfc reset --keys takes %s, and prints one line', async (_, file) => {
  const chip = put(foreignChip())
  const ended = await nfc('reset', '--keys', fileOf('keys', file), '--yes', '--json')
  expect([ended.code, JSON.parse(ended.stdout)]).toEqual([0, { uid: chip.uid, status: 'factory' }])
  expect(memory().keys.every(({ key, version }) => version === 0 && key.equals(Buffer.alloc(16)))).toBe(true)
  expect(memory().failedAuthentications).toBe(0)
})

test('a box of chips is reset by a script, each by the file of all, and others are refused', async () => {
  const chips = Array.from({ length: 6 }, () => foreignChip())
  const all = fileOf(
    'all.json',
    chips.slice(0, 5).map(({ uid }) => ({ ...wipe, uid: uidToHex(uid) })),
  )
  const codes: number[] = []
  for (const chip of chips) {
    put(chip)
    const ended = await nfc('reset', '--keys', all, '--uid', chip.uid, '--yes', '--json')
    codes.push(ended.code)
    if (ended.code === 0) expect(JSON.parse(ended.stdout)).toEqual({ uid: chip.uid, status: 'factory' })
  }
  expect(codes).toEqual([0, 0, 0, 0, 0, 2])
  const [first, second] = chips
  put(foreignChip())
  const other = await nfc('reset', '--keys', all, '--uid', first?.uid ?? '', '--yes', '--json')
  expect([other.code, JSON.parse(other.stdout)]).toMatchObject([1, { status: 'failed' }])
  expect(other.stdout).toContain(`not ${first?.uid}`)
  expect((await nfc('reset', '--keys', all, '--yes', '--json')).stderr).toContain('has keys of 5 chips')
  expect((await nfc('reset', '--uid', second?.uid ?? '', '--yes', '--json')).code).toBe(1)
})

test('nfc provision --rekey --keys sets a chip of another system up, and keeps its keys nowhere', async () => {
  const chip = put(foreignChip())
  const file = fileOf('wipe.json', wipe)
  const without = await nfc(...setUp, '--keys', file)
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('--rekey')])
  const refused = await nfc(...setUp, '--json')
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('nfc reset --keys FILE')])
  const ended = await nfc(...setUp, '--rekey', '--keys', file, '--json')
  expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([
    0,
    { uid: chip.uid, status: 'provisioned', keySet: 201 },
  ])
  put(foreignChip())
  expect((await nfc(...setUp, '--rekey', '--keys', file, '--count', '1', '--json')).code).toBe(0)
  for (const name of readdirSync(join(state(), 'batches')))
    for (const key of keys) expect(readFileSync(join(state(), 'batches', name), 'utf8')).not.toContain(key)
})

test('a dry run shows no key', async () => {
  put(foreignChip())
  const ended = await nfc('reset', '--keys', fileOf('wipe.json', wipe), '--yes', '--dry-run', '--json')
  expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([0, { dryRun: true, body: { keys: '…' } }])
  for (const key of keys) expect(ended.stdout + ended.stderr).not.toContain(key)
})

test('a file without all five keys is refused before a chip is touched, and quotes none', async () => {
  put(foreignChip())
  for (const [file, why] of [
    [{ k0, k1, k2, k3 }, 'has no key 4'],
    [[keys, keys.map((key) => key.replaceAll('5', '6'))].flat(), 'has no key 0'],
    [{ k0, k1, k2, k3, k4: 'abc' }, 'k4 of'],
  ] as const) {
    const ended = await nfc('reset', '--keys', fileOf('bad.json', file), '--yes')
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(why)])
    for (const key of keys) expect(ended.stderr).not.toContain(key)
  }
})

test('a blank chip with other key versions is set up by --try-factory-keys', async () => {
  const zeros = keys.map(() => Buffer.alloc(16))
  put(foreignChip({ keys: zeros, versions: [1, 1, 1, 1, 1], hasTap: false }))
  expect((await nfc(...setUp)).stderr).toContain('--try-factory-keys')
  const ended = await nfc(...setUp, '--try-factory-keys', '--json')
  expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([0, { status: 'provisioned' }])
})
