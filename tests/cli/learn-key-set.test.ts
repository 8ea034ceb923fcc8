import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { boltcardFileRead, boltcardMetaRead } from '../../src/nfc/ntag424/diversify.ts'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { foreignTap } from '../support/foreign-taps.ts'
import { seed } from '../support/seeds.ts'

let here: CliHome
let daemon: TestDaemon
withDaemon({ seed }, (home, started) => {
  here = home
  daemon = started
})
const write = (name: string, content: unknown) =>
  writeFileSync(join(here.home, name), JSON.stringify(content))
const learn = (...args: string[]) => here.run('key-sets', 'learn', ...args)

// boltcard docs/DETERMINISTIC.md
const issuer = '00112233445566778899aabbccddee01'
const bolt = (uid: string, version = 0) => ({
  template: 'lnurlw://card.example/ln?p={picc}&c={mac}',
  uid,
  metaRead: new AesKey(boltcardMetaRead(Buffer.from(issuer, 'hex'))),
  fileRead: new AesKey(
    boltcardFileRead(new AesKey(Buffer.from(issuer, 'hex')), Buffer.from(uid, 'hex'), version),
  ),
})
const uids = ['04A39493CC8680', '04996C6A926980'] as const
const [meta, file] = ['0c3b25d92b38ae443229dd59ad34b85d', 'b45775776cb224c75bcde7ca3704e933']
const wipe = {
  version: 1,
  action: 'wipe',
  k0: '00'.repeat(16),
  k1: meta,
  k2: file,
  k3: 'aa'.repeat(16),
  k4: 'bb'.repeat(16),
}
const url = 'lnurlw://card.example/ln?p=4E2E289D945A66BB13377A728884E867&c=E19CCB1FED8892CE'

const findTap = async (tap: string) => (await fetch(`${daemon.url}/chips/find?${tap.split('?')[1]}`)).json()

describe('key-sets learn', () => {
  test.each([0, 1])(
    'from a tap of a bolt card of version %i to valid taps of the whole order',
    async (version) => {
      write('issuer.json', { issuer_key: issuer })
      const out = `set-${version}.json`
      const tap = foreignTap(bolt(uids[0], version), 7)
      here.env.TAPCHIP_URL = 'http://127.0.0.1:9'
      const learned = await learn(
        '--url',
        tap,
        '--keys',
        'issuer.json',
        '--out',
        out,
        '--id',
        `${300 + version}`,
      )
      expect([learned.code, learned.stdout]).toEqual([0, expect.stringContaining('boltcard')])
      expect(learned.stdout + learned.stderr).not.toContain(issuer)
      ends(learned, 0, `Load it: tapchip key-sets create --file ${out}`)
      expect(statSync(join(here.home, out)).mode & 0o777).toBe(0o600)

      here.env.TAPCHIP_URL = daemon.url
      const created = (await here.run('key-sets', 'create', '--file', out, '--json')).json()
      expect(created).toMatchObject({ id: 300 + version, template: '?p={picc}&c={mac}', canProvision: false })
      writeFileSync(join(here.home, 'chips.csv'), `uid,lastCounter\n${uids[version]},7\n`)
      const imported = await here.run(
        ...[
          'chips',
          'import',
          '--file',
          'chips.csv',
          '--chip-group',
          `Cards ${version}`,
          '--key-set',
          `${300 + version}`,
        ],
      )
      expect([imported.code, imported.stderr]).toEqual([0, expect.any(String)])
      const next = foreignTap(bolt(uids[version] ?? '', version), 8)
      expect(await findTap(next)).toMatchObject({ isValidTap: true })
      expect(await findTap(next)).toMatchObject({ isValidTap: false })
    },
  )

  test('prints JSON that create takes, with the keys in it alone', async () => {
    write('wipe.json', wipe)
    const json = (await learn('--url', url, '--keys', 'wipe.json', '--json')).json()
    expect(json).toEqual({
      found: true,
      keySet: {
        id: expect.any(Number),
        metaReadKey: meta,
        fileReadKey: file,
        diversification: 'none',
        template: '?p={picc}&c={mac}',
      },
      uid: '1294590830340480',
      counter: 3,
      tamper: null,
      fileData: null,
      warnings: [],
    })
    write('set.json', (json as { keySet: unknown }).keySet)
    expect((await here.run('key-sets', 'create', '--file', 'set.json')).code).toBe(0)
    const people = await learn('--url', url, '--keys', 'wipe.json')
    ends(people, 0, 'Check a tap of another chip as well')
    expect(people.stdout).toMatch(/k2[\s\S]*k1[\s\S]*04:99:6C:6A:92:69:80/)
    expect(people.stdout + people.stderr).not.toMatch(new RegExp(`${meta}|${file}`))
  })

  test('says of a wipe file that its keys are those of one chip', async () => {
    write('wipe.json', { ...wipe, uid: '04996C6A926980' })
    ends(await learn('--url', url, '--keys', 'wipe.json'), 0, 'The file has the keys of one chip')
    write('wipe.json', { ...wipe, k2: wipe.k3, uid: '04:A3:94:93:CC:86:80' })
    const other = await learn('--url', url, '--keys', 'wipe.json')
    ends(other, 1, 'The keys of the file are those of another chip: 04:A3:94:93:CC:86:80')
    expect(other.stdout).toBe('')
  })

  test('ends with 1 if nothing fits, and says how near it came', async () => {
    write('wipe.json', { k1: meta })
    const json = await learn('--url', url, '--keys', 'wipe.json', '--json')
    expect([json.code, json.json()]).toEqual([
      1,
      {
        found: false,
        nearest: {
          uid: '1294590830340480',
          counter: 3,
          reason: expect.stringContaining('its MAC does not hold'),
        },
        warnings: [],
      },
    ])
    ends(
      await learn('--url', url, '--keys', 'wipe.json'),
      1,
      'No key set fits. The URL decrypts with k1 to the UID 04:99:',
    )
  })

  test('warns of zero keys, which need no file', async () => {
    const zero = 'https://t.example/?uid=049F50824F1390&ctr=000001&cmac=2446E527C37E073A'
    ends(await learn('--url', zero), 0, 'Warning: Anyone can forge these taps')
  })

  test('writes over no file, and nothing in a dry run', async () => {
    write('wipe.json', wipe)
    write('set.json', { keep: true })
    ends(
      await learn('--url', url, '--keys', 'wipe.json', '--out', 'set.json'),
      2,
      'set.json exists, and may hold other keys.',
    )
    expect(readFileSync(join(here.home, 'set.json'), 'utf8')).toBe('{"keep":true}')
    ends(await learn('--url', url, '--keys', 'wipe.json', '--out', 'new.json', '--dry-run'), 0, 'Dry run')
    expect(existsSync(join(here.home, 'new.json'))).toBe(false)
  })

  test('needs a URL, which is no address of a daemon here', async () => {
    ends(await learn('--keys', 'wipe.json'), 2, '--url is missing.')
    const help = await learn('--help')
    expect(help.stdout.match(/--url <url>/g)).toHaveLength(1)
  })

  test('takes keys from standard input, and several URLs', async () => {
    here.stdin = `${meta}\n${file}\n`
    const second = 'lnurlw://card.example/ln?p=00F48C4F8E386DED06BCDC78FA92E2FE&c=66B4826EA4C155B4'
    const ran = await learn('--url', url, '--url', second, '--keys', '-')
    expect([ran.code, ran.stdout]).toEqual([
      0,
      expect.stringMatching(/MAC covers:\s+no text\n[\s\S]*Counter:\s+3, 5/),
    ])
  })
})
