import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readKeysFile } from '../../src/cli/nfc/keys-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'tapchip-keys-'))
afterAll(() => rmSync(folder, { recursive: true }))

const read = (text: string) => {
  writeFileSync(join(folder, 'keys'), text)
  const system = { cwd: folder } as unknown as Parameters<typeof readKeysFile>[0]
  return readKeysFile(system, 'keys')
}
const k = (digit: string): string => digit.repeat(32)
const shown = async (text: string) =>
  (await read(text)).map(({ key, name, slot, uid }) => [key.toString('hex').slice(0, 2), name, slot, uid])

describe('a file of keys', () => {
  test('is the wipe file of a bolt card, whose keys belong to its UID', async () => {
    const wipe = {
      ...{ version: 1, action: 'wipe', uid: '04:A3:94:93:CC:86:80' },
      ...{ k0: k('0'), k1: k('1'), k2: k('2'), k3: k('3'), k4: k('4') },
      ...{ id: 7, lnurlw_base: 'lnurlw://card.example/ln', protocol_name: 'new_bolt_card_response' },
    }
    const uid = '1305758436984448'
    const five = [
      ['00', 'k0', 0, uid],
      ['11', 'k1', 1, uid],
      ['22', 'k2', 2, uid],
      ['33', 'k3', 3, uid],
      ['44', 'k4', 4, uid],
    ]
    expect(await shown(JSON.stringify(wipe))).toEqual(five)
    expect(await shown(JSON.stringify({ cards: [wipe] }))).toEqual(five)
  })

  test('is a key set, or any other JSON with keys', async () => {
    expect(
      await shown(JSON.stringify({ id: 101, metaReadKey: k('a'), fileReadKey: k('B'), note: 'x' })),
    ).toEqual([
      ['aa', 'metaReadKey', undefined, undefined],
      ['bb', 'fileReadKey', undefined, undefined],
    ])
  })

  test('is a list, of which five are the keys of a chip in order', async () => {
    expect(await shown(`# ours\n${k('1')}\n\n  ${k('2')}  \r\n`)).toEqual([
      ['11', 'line 2', undefined, undefined],
      ['22', 'line 4', undefined, undefined],
    ])
    expect((await shown(JSON.stringify([...'01234'].map(k)))).map(([, , slot]) => slot)).toEqual([
      0, 1, 2, 3, 4,
    ])
    expect(await shown(`${k('1')}, ${k('2')};0x${k('3')}`)).toEqual([
      ['11', 'line 1', undefined, undefined],
      ['22', 'line 1', undefined, undefined],
      ['33', 'line 1', undefined, undefined],
    ])
    expect(await shown(`k2: ${k('2')}\nissuer-key = ${k('3')}`)).toEqual([
      ['22', 'k2', 2, undefined],
      ['33', 'issuer-key', undefined, undefined],
    ])
  })

  test.each([
    `0x${k('a')}`,
    `'${k('a')}`,
    Array(16).fill('0xaa').join(' '),
    Array(16).fill('AA').join(':'),
    Array(8).fill('aaAA').join('-'),
  ])('takes a key as %s', async (text) => {
    expect(await shown(text)).toEqual([['aa', 'line 1', undefined, undefined]])
  })

  test.each([
    ['{}', 'keys has no keys.'],
    ['', 'keys has no keys.'],
    ['{ "k0": ', 'keys is not JSON.'],
    [
      JSON.stringify({ k0: k('a').slice(1) }),
      'k0 of keys has 31 hex digits: an AES-128 key has 32 hex digits.',
    ],
    [JSON.stringify({ k0: 'secret' }), 'k0 of keys is not hex: an AES-128 key has 32 hex digits.'],
    [`${k('a')}\n${k('b')}b`, 'line 2 of keys has 33 hex digits: an AES-128 key has 32 hex digits.'],
    [`${k('a')},${k('b')}b`, 'line 1 of keys is not hex'],
    [`0x${k('a')}: ours`, 'line 1 of keys is not hex'],
    [`${Array(8).fill('aaaa').join('-')}, ours`, 'line 1 of keys is not hex'],
    [`${k('a')}\n`.repeat(65), 'keys has 65 keys, of at most 64.'],
  ])('%j is refused: %s', async (text, message) => {
    await expect(read(text)).rejects.toThrow(message)
    await expect(read(text)).rejects.not.toThrow(/a{31}|(aaaa-){7}|b{33}|secret/)
  })
})
