import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EmulatedCard } from '../../src/nfc/emulator/card.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { Matcher, queryOf } from '../../src/nfc/ntag424/template/match.ts'
import { parseTemplate } from '../../src/nfc/ntag424/template/parse.ts'
import { claimOf, proveTap } from '../../src/nfc/ntag424/template/tap.ts'
import { readTap } from '../../src/nfc/read-tap.ts'
import { runScript } from '../../src/nfc/script.ts'
import { type TemplateKind, templateKinds } from '../support/chip-templates.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { keySets, nfcSeed } from '../support/nfc.ts'

// One daemon has a key set for each kind of template, most of them without a number in the URL.

const kinds = Object.entries(templateKinds).map(([name, kind], index) => ({ name, kind, id: 301 + index }))
const { macInputFrom: _, ...keys } = keySets.a
const digits = (id: number) => id.toString(16).padStart(32, '5e')
const keySetOf = ({ kind, id }: { kind: TemplateKind; id: number }) => ({
  ...keys,
  id,
  metaReadKey: digits(id),
  fileReadKey: digits(id + 1000),
  template: kind.template,
  ...(kind.tamper === undefined ? {} : { tamper: kind.tamper }),
  ...(kind.isLrp ? { mode: 'lrp' } : {}),
})

let daemon: TestDaemon
let at: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: { ...nfcSeed, keySets: kinds.map(keySetOf) } })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  at = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => at.remove())

const onEmulator = ['--reader', 'emulator', '--timeout', '1', '--json']
const into = ['--chip-group', 'Jackets', '--team', 'Acme', '--accept-url']
const contentOf = ({ fileData, aar, text }: TemplateKind): string[] => [
  ...(fileData === undefined ? [] : ['--file-data', fileData]),
  ...(aar === undefined ? [] : ['--aar', aar]),
  ...(text === undefined ? [] : ['--text', text]),
]
const emulatorFile = () => join(at.home, '.local/state/tapchip/emulator.json')

/** What the card that the emulator keeps shows to a phone. */
async function tap(): Promise<string> {
  const chip = VirtualNtag424.fromJSON(JSON.parse(readFileSync(emulatorFile(), 'utf8')))
  const card = new EmulatedCard('test', chip)
  const { url } = await runScript(card, readTap())
  card.lift()
  writeFileSync(emulatorFile(), JSON.stringify(chip.toJSON()))
  return url ?? ''
}
const find = async (url: string) =>
  (await (await fetch(`${daemon.url}/chips/find${url.slice(url.indexOf('?'))}`)).json()) as Record<
    string,
    unknown
  >
const opened = async (url: string) => (await fetch(`${daemon.url}/t${url.slice(url.indexOf('?'))}`)).status

/** From one tap and the five keys of the chip; what is learned verifies the next tap. */
async function isLearned(kind: TemplateKind, uid: string): Promise<void> {
  const { keys } = VirtualNtag424.fromJSON(JSON.parse(readFileSync(emulatorFile(), 'utf8'))).memory
  const file = join(at.home, 'keys.json')
  writeFileSync(
    file,
    JSON.stringify(Object.fromEntries(keys.map(({ key }, i) => [`k${i}`, key.toString('hex')]))),
  )
  const ran = await at.run('key-sets', 'learn', '--url', await tap(), '--keys', file, '--json')
  const learned = Object(ran.json())
  expect(learned).toMatchObject({ found: true, uid, tamper: kind.isTagTamper ? 'closed' : null })
  if (kind.fileData !== undefined) expect(learned.fileData).toContain(kind.fileData)
  const { id, template, tamper, metaReadKey, fileReadKey } = learned.keySet
  const parsed = parseTemplate(template, tamper)
  const match = new Matcher(parsed.parameters).match(queryOf(await tap()))
  const claim = match.ok ? claimOf(match.values, aes(metaReadKey)) : undefined
  if (!match.ok || !claim) throw new Error(`${template} does not fit the next tap`)
  const { values } = match
  expect(
    proveTap({ template: parsed, keySet: String(id), values, claim, fileRead: aes(fileReadKey) }),
  ).toBeDefined()
}

const aes = (hex: string): AesKey => new AesKey(Buffer.from(hex, 'hex'))

test('a dry run says the URL that chips would show, and refuses an address that no phone reaches', async () => {
  const id = kinds.find(({ kind }) => kind.fileData !== undefined)?.id
  const dry = (...more: string[]) =>
    at.run(
      'nfc',
      'provision',
      '--key-set',
      String(id),
      ...into.slice(0, 4),
      ...onEmulator,
      '--dry-run',
      ...more,
    )
  const ran = await dry('--accept-url')
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringContaining('https://t.brand.example/x?picc_data={picc}&enc={enc}&cmac={mac}'),
  ])
  expect((await dry('--accept-url', '--aar', 'no package')).code).toBe(2)
  const unreached = await dry()
  expect([unreached.code, unreached.stderr]).toEqual([2, expect.stringContaining('--accept-url')])
})

describe.each(kinds)('$name', ({ kind, id }) => {
  const run = async (...args: string[]) => {
    const ran = await at.run(...args, ...onEmulator)
    return { ...ran, line: Object(ran.lines()[0]) }
  }

  test('is set up, tapped, re-keyed, and reset', async () => {
    at.env.TAPCHIP_EMULATOR = kind.isTagTamper ? 'tagtamper' : ''
    const provision = (...more: string[]) =>
      run('nfc', 'provision', '--key-set', String(id), ...into, ...more)
    const made = await provision(...contentOf(kind))
    expect(made.line, JSON.stringify(made.line)).toMatchObject({ status: 'provisioned', keySet: id })
    const { uid, url } = made.line
    const shape = (of: string) => of.replace(/[0-9A-F]{6,}|(?<=tamper=|&t=)../g, '#')
    const first = await tap()
    expect(shape(first)).toBe(shape(url))
    expect(first).toMatch(
      kind.template.includes('brand') ? /^https:\/\/t\.brand\.example\// : /^http:\/\/127\./,
    )
    expect(await find(first)).toMatchObject({ uid, isValidTap: true })
    expect(await opened(first)).toBe(410)
    expect(await opened(await tap())).toBe(200)
    expect((await run('nfc', 'verify')).line).toMatchObject({ uid, isValidTap: true })
    expect((await provision()).line).toMatchObject({ status: 'unchanged', url })
    await isLearned(kind, uid)

    const kept = await tap()
    expect((await provision('--rekey')).line).toMatchObject({ status: 'provisioned', uid, url })
    expect(await find(kept)).toMatchObject({ uid, isValidTap: false })
    const again = await tap()
    expect(shape(again)).toBe(shape(url))
    expect(await find(again)).toMatchObject({ uid, isValidTap: true })
    expect((await run('nfc', 'reset', '--yes')).line).toEqual({ uid, status: 'factory' })
    expect(await tap()).toBe('')
    expect(await find(again)).toMatchObject({ isValidTap: false })
  })
})
