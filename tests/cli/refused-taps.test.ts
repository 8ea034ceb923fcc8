import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { NDEF_FILE } from '../../src/nfc/ntag424/layout.ts'
import { parseObject } from '../../src/values/json.ts'
import { type CliHome, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { foreignTap } from '../support/foreign-taps.ts'
import { haloChip } from '../support/halo.ts'
import { derived, otherKey, seed, uids } from '../support/seeds.ts'
import { tap } from '../support/taps.ts'

// What people met in the field and were misled by: each has a sentence of its own, with what to do.

const zeroKey = '0'.repeat(32)
const encrypted = {
  ...{ id: 300, metaReadKey: zeroKey, fileReadKey: zeroKey, diversification: 'none' },
  template: '?picc_data={picc}&cmac={mac}',
}
const plain = { ...encrypted, id: 301, template: '?uid={uid}&ctr={ctr}&c={mac}' }
const registered = '04C1D2E3F4A580'
const [acme, ...others] = seed.teams
const chips = [{ uid: registered, keySet: encrypted.id }]

let here: CliHome
let daemon: TestDaemon
withDaemon(
  {
    seed: {
      ...seed,
      keySets: [...seed.keySets, encrypted, plain],
      teams: [{ ...acme, chipGroups: [...(acme?.chipGroups ?? []), { name: 'Field', chips }] }, ...others],
    },
  },
  (home, started) => {
    here = home
    daemon = started
  },
)

const key = new AesKey(Buffer.alloc(16))
const other = new AesKey(Buffer.alloc(16, 7))
const shown = (template: string, uid = registered, keys = { metaRead: key, fileRead: key }) =>
  foreignTap({ template, uid, ...keys, fileData: Buffer.from('26.05.2024 23:44') }, 5)
const t = 'https://t.example/t'
const byNumber = (parameters: Record<string, string>) => `${t}?${new URLSearchParams(parameters)}`
const stranger = haloChip('nobody').tap(3)
const cutAt = 9

const cases: Record<string, { url: string; says: readonly string[]; toStrangers: readonly string[] }> = {
  'an unknown key set': {
    url: byNumber({ ...tap(derived, { uid: uids.jacket }, 9), d: '999' }),
    says: [
      'There is no key set 999, which this tap names',
      'tapchip key-sets create',
      'tapchip key-sets list',
    ],
    toStrangers: ['No chip here made this tap', 'tapchip chips find URL'],
  },
  'a UID that is not registered': {
    url: byNumber(tap(derived, { uid: '04AAAAAAAAAA80' }, 9)),
    says: ['The chip with the UID 04:AA:AA:AA:AA:AA:80 is not registered', '--key-set 101'],
    toStrangers: ['No chip here made this tap'],
  },
  'a UID in plain text that is not registered': {
    url: shown(`${t}?uid={uid}&ctr={ctr}&c={mac}`, '04AABBCCDDEE80'),
    says: ['The chip with the UID 04:AA:BB:CC:DD:EE:80 is not registered', '--key-set 301'],
    toStrangers: ['No chip here made this tap'],
  },
  'a HaLo chip that is not registered': {
    url: byNumber({ static: haloChip('nobody').static, rnd: stranger.rnd, rndsig: stranger.rndsig }),
    says: ['The HaLo chip with the UID', 'is not registered', 'column publicKey'],
    toStrangers: ['No chip here made this tap'],
  },
  'other keys than any of the key sets': {
    url: shown(`${t}?picc_data={picc}&cmac={mac}`, registered, { metaRead: other, fileRead: other }),
    says: ['does not decrypt to a UID with the key set 300', 'tapchip key-sets learn'],
    toStrangers: ['No chip here made this tap'],
  },
  'parameters that no key set has': {
    url: shown(`${t}?p={picc}&mac={mac}`),
    says: ['no key set has the parameters of this URL (p, mac)', 'tapchip key-sets learn --url URL'],
    toStrangers: ['no key set has the parameters of this URL (p, mac)'],
  },
  'encrypted data where the key set has none': {
    url: shown(`${t}?picc_data={picc}&enc=^{enc}&cmac={mac}`),
    says: [
      'The URL has encrypted data in enc, and the template of the key set 300 has none',
      '?picc_data={picc}&cmac={mac}',
      'tapchip key-sets learn',
    ],
    toStrangers: [],
  },
}

describe.each(Object.entries(cases))('%s', (_, { url, says, toStrangers }) => {
  test('is told by chips find and nfc verify', async () => {
    const found = await here.run('chips', 'find', url)
    for (const words of says) expect(found.stderr).toContain(words)
    if (url.includes('static=')) return
    layDown(url)
    const verified = await here.run('nfc', 'verify', '--reader', 'emulator')
    expect(verified.code).toBe(1)
    for (const words of says) expect(verified.stderr).toContain(words)
  })

  test('is told to an app without more than it may know', async () => {
    const body = await find(url.slice(url.indexOf('?') + 1))
    if (toStrangers.length === 0) expect(body).toEqual({ uid: expect.any(String), isValidTap: false })
    for (const words of toStrangers) expect(body.message).toContain(words)
  })
})

const local: Record<string, { url: string; says: readonly string[]; ofChip?: readonly string[] }> = {
  'zeros in place of the MAC': {
    url: `${t}?d=101&e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`,
    says: ['The URL has only zeros in e', 'SDM (Secure Dynamic Messaging) is off', 'Tap the chip itself'],
  },
  "zeros in TagWriter's form": {
    url: `${t}?m=00000000000000x000000x${'0'.repeat(16)}`,
    says: ['The URL has only zeros in m'],
  },
  'a MAC that was cut off': {
    url: shown(`${t}?picc_data={picc}&cmac={mac}`).slice(0, -cutAt),
    says: ['The URL was cut off: cmac ends in 7 hex digits, and a MAC has 16.'],
  },
  'a URL that a shell cut at &': {
    url: `${t}?e=${'AB'.repeat(16)}`,
    says: ['The URL has no MAC, and ends after e'],
  },
  'a URL without parameters': { url: t, says: ['The URL has no parameters'] },
  'a URL of something else': { url: `${t}?lang=de`, says: ['The URL has no values of a tap'] },
}

describe.each(Object.entries(local))('%s', (_, { url, says }) => {
  beforeEach(() => {
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
  })

  test('is told by chips find, nfc read and nfc verify, which ask no daemon', async () => {
    const found = await here.run('chips', 'find', url)
    expect(found.code).toBe(2)
    layDown(url)
    const [read, verified] = [
      await here.run('nfc', 'read', '--reader', 'emulator'),
      await here.run('nfc', 'verify', '--reader', 'emulator'),
    ]
    expect([read.code, verified.code]).toEqual([0, 1])
    for (const { stderr } of [found, read, verified])
      for (const words of says) expect(stderr).toContain(words)
    expect(verified.stderr).toContain('Set it up: tapchip nfc provision')
    expect(verified.stderr).not.toContain('in quotes')
  })
})

describe('a URL that is right but for its form', () => {
  const url = (): string => {
    counter += 1
    return byNumber(tap(derived, { uid: uids.unminted }, counter))
  }
  let counter = 100

  test('as a hash router has it is taken, with a warning', async () => {
    const hashed = url().replace('/t?', '/#/t?')
    const found = await here.run('chips', 'find', hashed, '--json')
    expect(found.json()).toMatchObject({ isValidTap: true })
    expect(found.stderr).toContain('behind a #')
    layDown(hashed)
    expect((await here.run('nfc', 'read', '--reader', 'emulator')).stderr).toContain('behind a #')
    expect((await here.run('nfc', 'verify', '--reader', 'emulator')).stderr).toContain('behind a #')
  })

  test('HTML-escaped is taken where it was copied, and told where a chip shows it', async () => {
    const escaped = url().replaceAll('&', '&amp;')
    const found = await here.run('chips', 'find', escaped, '--json')
    expect(found.json()).toMatchObject({ isValidTap: true })
    expect(found.stderr).toContain('HTML-escaped')
    layDown(escaped)
    expect((await here.run('nfc', 'read', '--reader', 'emulator')).stderr).toContain('HTML-escaped')
    const verified = await here.run('nfc', 'verify', '--reader', 'emulator')
    expect(verified.code).toBe(1)
    expect(verified.stderr).toContain('is missing: the URL is HTML-escaped, with &amp; in place of &')
  })
})

test.each([
  ['', 'e is missing: there are no parameters'],
  [`e=${'AB'.repeat(16)}&amp;c=${'CD'.repeat(8)}`, 'c is missing: the URL is HTML-escaped'],
  [`e=${'AB'.repeat(16)}&c=ABCDEF012`, 'c must be 16 hex digits, and has 9: the URL was cut off or changed'],
  [`e=${'AB'.repeat(16)}`, 'c is missing: open the complete URL that the chip shows'],
  [`p=${'AB'.repeat(16)}`, 'e is missing: no key set has the parameters of this URL (p)'],
])('an app that sends %j is told: %s', async (query, words) => {
  const body = await find(query)
  expect(body).toMatchObject({ statusCode: 400, code: 'tap_malformed' })
  expect(body.message).toContain(words)
})

test('the page of a URL with zeros says that the chip is not set up, whichever chip it is', async () => {
  const tapped = tap(derived, { uid: uids.blank }, 3)
  for (const e of [tapped.e, '0'.repeat(32)]) {
    const answer = await fetch(`${daemon.url}/t?d=101&e=${e}&c=${'0'.repeat(16)}`)
    expect(answer.status).toBe(404)
    expect(await answer.text()).toContain('This chip is not set up')
  }
})

test('GET /admin/taps/explain tells a team of its own chips, and nothing is used up or recorded', async () => {
  const query = new URLSearchParams(tap(derived, { uid: uids.jacket }, 4000))
  const explain = async (headers: Record<string, string>) =>
    (await fetch(`${daemon.url}/admin/taps/explain?${query}`, { headers })).json()
  const root = { authorization: `Bearer ${daemon.adminToken}` }
  expect(await explain(root)).toEqual({ reason: null })
  expect(await explain(root)).toEqual({ reason: null })
  await here.run('chips', 'disable', uids.jacket, '--yes')
  expect(await explain(root)).toEqual({ reason: 'The chip is disabled. Enable it: tapchip chips enable' })
  expect(await explain({ ...root, 'x-svc-api-key': otherKey })).toEqual({
    reason: 'The chip is registered by another team, which alone can see why.',
  })
  expect((await here.run('taps', 'list', '--uid', uids.jacket, '--json')).lines()).toEqual([[]])
})

/** As an app, without a key. */
const find = async (query: string): Promise<Record<string, unknown>> => {
  const answer = await fetch(`${daemon.url}/chips/find?${query}`)
  return parseObject(await answer.text()) ?? {}
}

/** On the emulator: a chip whose file has this text, and no SDM. */
function layDown(url: string): void {
  const chip = new VirtualNtag424(factoryMemory(Buffer.from(registered, 'hex')))
  const file = chip.memory.files.get(NDEF_FILE)
  if (!file) throw new Error('The chip has no NDEF file')
  const text = url.slice('https://'.length)
  const header = [0xd1, 0x01, text.length + 1, 0x55, 0x04]
  file.bytes.writeUInt16BE(header.length + text.length)
  Buffer.from(header).copy(file.bytes, 2)
  file.bytes.write(text, 2 + header.length)
  const path = join(here.home, '.local/state/tapchip/emulator.json')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify(chip.toJSON()))
}
