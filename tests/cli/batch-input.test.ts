import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'

// Nothing listens there: a request would end with 5, and a refusal comes before any request.
const nowhere = { TAPCHIP_URL: 'http://127.0.0.1:1', TAPCHIP_API_KEY: 'svc_x', TAPCHIP_ADMIN_TOKEN: 'adm_x' }
const a = '04DE5F1EACC040'
const b = '04:98:93:CA:AA:11:90'
const good = 'https://example.com/'

let here: CliHome
beforeEach(() => {
  here = cliHome(nowhere)
})
afterEach(() => here.remove())

const edit = async (name: string, content: string | Buffer, ...flags: string[]) => {
  writeFileSync(join(here.home, name), content)
  const ran = await here.run('chips', 'edit', '--file', name, ...flags)
  expect(ran.stdout).toBe('')
  expect(existsSync(join(here.home, '.local'))).toBe(false)
  return ran
}
const refused = async (
  name: string,
  content: string | Buffer,
  reasons: readonly (string | RegExp)[],
  ...flags: string[]
) => {
  const ran = await edit(name, content, ...flags)
  for (const reason of reasons) expect(ran.stderr).toMatch(reason)
  expect(ran.stderr).toContain('Nothing was written')
  expect(ran.code).toBe(2)
}
/** The input is good: what stops it is that no daemon is there. */
const taken = async (name: string, content: string | Buffer, ...flags: string[]) => {
  const ran = await edit(name, content, ...flags)
  expect(ran.stderr).toContain('Daemon not reachable at 127.0.0.1:1. Start it: tapchip daemon start')
  expect(ran.code).toBe(5)
}

describe('an input that does not fit is refused whole, every bad row named', () => {
  test('bad URLs', () =>
    refused(
      'a.csv',
      [
        'uid,redirectUrl',
        '04000000000001,javascript:alert(1)',
        '04000000000002,data:text/html;x',
        '04000000000003,file:///etc/passwd',
        '04000000000004,blob:https://example.com/1',
        '04000000000005,vbscript:x',
        '04000000000006,https://user:secret@example.com/',
        '04000000000007,https://go.cb-w.com/dapp?cb_url=ftp%3A%2F%2Fx',
        '04000000000008,example.com',
        `04000000000009,${good}`,
        '0400000000000A,https://exa mple.com/',
        '0400000000000B, JavaScript:alert(1)',
      ].join('\n'),
      [
        ...[1, 2, 3, 4, 5, 6, 7, 8, 10, 11].map((row) => new RegExp(`^row ${row}, redirectUrl: `, 'm')),
        '10 rows are invalid',
      ],
    ))

  test('bad UIDs, scientific notation among them', () =>
    refused(
      'a.csv',
      `uid,redirectUrl\n1.29366E+15,${good}\n12zz,${good}\n,${good}\n-5,${good}\n99999999999999999,${good}\n`,
      [
        /^row 1, uid: .*scientific notation/m,
        /^row 2, uid: /m,
        /^row 3, uid: is missing/m,
        /^row 4, uid: /m,
        /^row 5, uid: .*7 bytes/m,
      ],
    ))

  test('a UID that appears twice, in two forms', () =>
    refused('a.csv', `uid,redirectUrl\n${b},${good}\n1293660434600336,${good}\n`, [
      /^row 2, uid: .*already in row 1/m,
    ]))

  test('an unknown column, with advice', () =>
    refused('a.csv', `uid,redirectUrl,Remark\n${a},${good},x\n`, [
      'unknown column "Remark"',
      '--ignore-columns',
    ]))

  test('a column that is named otherwise', () =>
    refused('a.csv', `UID,redirectUrl\n${a},${good}\n`, [
      /if it is "UID": --map uid=UID/,
      'column "uid" is missing',
    ]))

  test('a missing column', () => refused('a.csv', `uid\n${a}\n`, ['column "redirectUrl" is missing']))

  test('rows without a cell, with too many, with a quote that goes wrong', () =>
    refused(
      'a.csv',
      `uid,redirectUrl\n${a}\n${b},https://example.com/?a=1,2\n04000000000001,"https://example.com/"x\n`,
      [
        /^row 1, redirectUrl: is missing; to clear it: an empty cell/m,
        /^row 2: malformed: 3 fields/m,
        /^row 3: malformed/m,
      ],
    ))

  test('ten decimal UIDs that all end in 0, unless --yes', async () => {
    const rows = Array.from({ length: 10 }, (_, i) => `12936604346003${10 + i}0,${good}`)
    const sheet = `uid,redirectUrl\n${rows.join('\n')}\n`
    await refused('a.csv', sheet, ['all 10 UIDs end in 0'])
    await taken('a.csv', sheet, '--yes')
    await taken('b.csv', `uid,redirectUrl\n${rows.slice(1).join('\n')}\n`)
  })

  test('JSON lines: what is no JSON, no object, no text, or lacks a member', () =>
    refused(
      'a.jsonl',
      `{"uid":"${a}","redirectUrl":"${good}"}\nnope\n[1]\n{"uid":"${b}"}\n{"uid":12936604346003360000,"redirectUrl":null}\n{"uid":{},"redirectUrl":null}\n{"uid":"04000000000001","redirectUrl":null,"other":1}\n`,
      [
        /^row 2: malformed/m,
        /^row 3: malformed: a row must be an object/m,
        /^row 4, redirectUrl: is missing/m,
        /^row 5, uid: /m,
        /^row 6, uid: must be text/m,
        /^row 7: unknown column "other"/m,
      ],
    ))

  test('a JSON array with a bad element', () =>
    refused('a.json', `[{"uid":"${a}","redirectUrl":"data:x"},{"uid":"x","redirectUrl":null}]`, [
      /^row 1, redirectUrl/m,
      /^row 2, uid/m,
    ]))

  test('text that is not UTF-8, an empty file, a file that does not exist', async () => {
    await refused('a.csv', Buffer.from([0x75, 0x69, 0x64, 0xff, 0x0a]), ['not UTF-8'])
    await refused('a.csv', Buffer.from([0x75, 0x69, 0x64, 0x81, 0x0a]), ['not UTF-8 text'])
    await refused('a.csv', '', ['is empty'])
    const ran = await here.run('chips', 'edit', '--file', 'nope.csv')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('nope.csv does not exist')])
  })

  test('a UID twice, in the notation of the sheet', () =>
    refused('a.csv', `uid,redirectUrl\n${b},${good}\n04-98-93-ca-aa-11-90,${good}\n0x049893CAAA1190,\n`, [
      /^row 2, uid: "04-98-93-ca-aa-11-90" is already in row 1$/m,
      /^row 3, uid: "0x049893CAAA1190" is already in row 1$/m,
    ]))

  test('what nobody sees in a value is shown where the value is quoted', () =>
    refused('a.csv', `uid,redirectUrl\n${a},https://exa\u200Bmple.com/\n`, [
      'row 1, redirectUrl: "https://exa<U+200B>mple.com/" must be ASCII',
    ]))

  test('terminal controls in a sheet are shown, not obeyed', async () => {
    const { stderr } = await edit('a.csv', `uid,redirectUrl\n\u001b[31mx,${good}\n`)
    expect(stderr).toContain('\\u001b[31mx')
    expect(stderr).not.toContain('\u001b')
  })
})

describe('an input in the shapes that people have is taken', () => {
  test('a byte order mark and Windows line ends', () =>
    taken('a.csv', `\uFEFFuid,redirectUrl\r\n${a},${good}\r\n${b},\r\n`))
  test('semicolons', () => taken('a.csv', `uid;redirectUrl\n${a};${good}\n`))
  test('tabs', () => taken('a.tsv', `uid\tredirectUrl\n${a}\t${good}\n`))
  test('quotes, and lines within them', () =>
    taken('a.csv', `"uid","redirectUrl"\n"${a}","https://example.com/?a=1,2"\n\n`))
  test('UTF-16, as Excel calls Unicode text', () =>
    taken(
      'a.txt',
      Buffer.concat([
        Buffer.from([0xff, 0xfe]),
        Buffer.from(`uid\tredirectUrl\r\n${a}\t${good}\r\n`, 'utf16le'),
      ]),
    ))
  test("an operator's own sheet", () =>
    taken(
      'a.csv',
      `TagID,Remark,Link\n${a},x,${good}\n`,
      '--map',
      'uid=TagID',
      '--map',
      'redirectUrl=Link',
      '--ignore-columns',
    ))
  test('columns to pass over by name', () =>
    taken('a.csv', `uid,Remark,redirectUrl\n${a},x,${good}\n`, '--ignore-columns', 'Remark'))
  test('rows whose last empty cells Excel left out, beside those that have them', () =>
    taken(
      'a.csv',
      `uid,redirectUrl,Remark\r\n${a},${good}\r\n${b},${good},\r\n04000000000001,${good},x,\r\n`,
      '--ignore-columns',
    ))
  test('what nobody sees, around cells and headings, and within a UID', () =>
    taken(
      'a.csv',
      `\u200Buid\u00A0,redirectUrl\u2060\n\u200E04DE\u200B5F1EACC040\u00A0,\u200B${good}\uFEFF\n`,
    ))
  test('UIDs as other tools write them', () =>
    taken(
      'a.csv',
      [
        'uid,redirectUrl',
        `04-de-5f-1e-ac-c0-40,${good}`,
        `04 98 93 CA AA 11 90,${good}`,
        `0x04000000000001,${good}`,
        `04  00  00  00  00  00  02,${good}`,
      ].join('\n'),
    ))
  test('a JSON array', () =>
    taken('a.json', `[{"uid":"${a}","redirectUrl":null},{"uid":"${b}","redirectUrl":"${good}"}]`))
  test('JSON lines in a file without a name for it', () =>
    taken('rows', `{"uid":"${a}","redirectUrl":null}\n`))
  test('a format that is said', () =>
    taken('rows.txt', `[{"uid":"${a}","redirectUrl":null}]`, '--format', 'json'))
  test('standard input', async () => {
    here.stdin = `uid,redirectUrl\n${a},${good}\n`
    expect((await here.run('chips', 'edit', '--file', '-')).code).toBe(5)
  })
  test('no rows: nothing to do', async () => {
    const ran = await edit('a.csv', 'uid,redirectUrl\n')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('Nothing to do')])
  })
})

describe('chips import checks the whole sheet first', () => {
  const load = async (content: string, ...flags: string[]) => {
    writeFileSync(join(here.home, 'chips.csv'), content)
    return here.run(
      'chips',
      'import',
      '--file',
      'chips.csv',
      '--chip-group',
      'G',
      '--key-set',
      '101',
      ...flags,
    )
  }
  test('every bad cell is named, but no key is repeated', async () => {
    const key = '0123456789abcdef'
    const ran = await load(
      `uid,label,contractAddress,chainId,tokenId,lastCounter,fileReadKey,variant\n${a},L,0x12,,,x,${key},\n${b},L,,,,,,s\n`,
    )
    expect(ran.code).toBe(2)
    expect(ran.stderr).toMatch(/^row 1, contractAddress: "0x12" must be an address/m)
    expect(ran.stderr).toMatch(/^row 1, chainId, tokenId: is missing/m)
    expect(ran.stderr).toMatch(/^row 1, lastCounter: /m)
    expect(ran.stderr).toMatch(/^row 1, fileReadKey: must be an AES-128 key/m)
    expect(ran.stderr).not.toContain(key)
    expect(ran.stderr).toMatch(/^row 2, label: "L" is already in row 1/m)
    expect(ran.stderr).toMatch(/^row 2, item: is missing/m)
  })
  test('a missing flag is named, off a terminal', async () => {
    writeFileSync(join(here.home, 'chips.csv'), `uid\n${a}\n`)
    const noGroup = await here.run('chips', 'import', '--file', 'chips.csv')
    expect([noGroup.code, noGroup.stderr]).toEqual([2, expect.stringContaining('--chip-group is missing')])
    const noKeySet = await here.run('chips', 'import', '--file', 'chips.csv', '--chip-group', 'G')
    expect([noKeySet.code, noKeySet.stderr]).toEqual([2, expect.stringContaining('--key-set is missing')])
  })
})
