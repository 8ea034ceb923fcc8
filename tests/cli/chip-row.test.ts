import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { haloChip } from '../support/halo.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

// Values that a sheet may hold, before the CLI and before the daemon: what one of them takes, the other takes as well.

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
/** A contract that chips can be linked to. */
let contract: string
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
})
afterAll(() => daemon.stop())
beforeEach(async () => {
  here = cliHome({
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: acmeKey,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  })
  const shown = (await here.run('chips', 'show', uids.jacket, '--json')).json()
  contract = (shown as { linkedToken: { contractAddress: string } }).linkedToken.contractAddress
})
afterEach(() => here.remove())

/** The rows that a refusal names. */
const rowsIn = (stderr: string): number[] => [
  ...new Set([...stderr.matchAll(/^row (\d+),/gm)].map((match) => Number(match[1]))),
]

const urls: readonly (readonly [url: string, isGood: boolean])[] = [
  ['https://example.com/', true],
  ['HTTP://localhost:3000/tap?x=%20#y', true],
  ['myapp://open', true],
  ['intent:open', true],
  ['myapp://user-page/a@b', true],
  ['https://example.com/?to=a@b', true],
  ['https://go.example/dapp?cb_url=https%3A%2F%2Fs.example%2F%3Fa%3D1', true],
  ['app:x#?cb_url=ftp%3A%2F%2Fx', true],
  [`https://example.com/${'x'.repeat(4076)}`, true],
  [`https://example.com/${'x'.repeat(4077)}`, false],
  ['ftp://example.com/', false],
  ['https:example.com', false],
  ['https:/example.com', false],
  ['https:///x', false],
  ['https://', false],
  ['ws://example.com/', false],
  ['feed:https://example.com/', false],
  ['smb://example.com/x', false],
  ['ms-msdt:/id', false],
  ['myapp://user:secret@example.com/', false],
  ['https:\\\\user@example.com/', false],
  ['https://example.com/ü', false],
  ['https://exa mple.com/', false],
  ['https://go.example/dapp?cb_url=https%3As.example', false],
  ['https://go.example/dapp?a=1&cb%5Furl=javascript%3Ax', false],
  ['javascript:alert(1)', false],
  ['example.com', false],
]
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
const uidOf = (row: number) => `04000000${(0x100000 + row).toString(16).toUpperCase()}`

const halo = (name: string) => haloChip(`refused values ${name}`).pk2
const uint256 = 2n ** 256n
/** Cells of one row each. */
const rows = (): readonly (readonly [cells: Readonly<Record<string, string>>, isGood: boolean])[] => {
  const token = { contractAddress: contract, chainId: '31337', tokenId: '7' }
  return [
    ...urls.map(([redirectUrl, isGood]) => [{ redirectUrl }, isGood] as const),
    [{ label: 'x'.repeat(200) }, true],
    [{ label: 'x'.repeat(201) }, false],
    [{ item: 'x'.repeat(65) }, false],
    [{ item: 'jacket', variant: 's' }, true],
    [{ item: 'jacket', variant: 'x'.repeat(65) }, false],
    [{ variant: 's' }, false],
    [token, true],
    [{ ...token, contractAddress: contract.toLowerCase(), tokenId: String(uint256 - 1n) }, true],
    [{ ...token, tokenId: '007' }, true],
    [{ ...token, tokenId: String(uint256) }, false],
    [{ ...token, tokenId: '9'.repeat(78) }, false],
    [{ ...token, tokenId: '1e3' }, false],
    [{ ...token, chainId: '0' }, false],
    [{ ...token, chainId: String(2 ** 53) }, false],
    [{ ...token, contractAddress: contract.slice(2) }, false],
    [{ tokenId: '7' }, false],
    [{ contractAddress: contract, tokenId: '7' }, false],
    [{ lastCounter: '16777215' }, true],
    [{ lastCounter: '16777216' }, false],
    [{ lastCounter: '-1' }, false],
    [{ lastCounter: '1.5' }, false],
    [{ publicKey: halo('a') }, true],
    [{ publicKey: halo('b').toLowerCase(), lastCounter: '4294967295' }, true],
    [{ publicKey: halo('c'), lastCounter: '4294967296' }, false],
    [{ publicKey: `02${halo('d').slice(2, 66)}` }, false],
    [{ publicKey: halo('e').slice(0, -2) }, false],
    [{ publicKey: `04${'11'.repeat(64)}` }, false],
    [{ publicKey: halo('f'), fileReadKey: '0'.repeat(32) }, false],
    [{ fileReadKey: '0'.repeat(31) }, false],
  ]
}
const sheetOf = (given: readonly Readonly<Record<string, string>>[]): string => {
  const columns = ['uid', ...new Set(given.flatMap((cells) => Object.keys(cells)))]
  const lines = given.map((cells, i) => {
    const row: Readonly<Record<string, string>> = { uid: uidOf(i + 1), ...cells }
    return columns.map((column) => quoted(row[column] ?? '')).join(',')
  })
  return `${[columns.join(','), ...lines].join('\n')}\n`
}
const numbersOf = (given: readonly (readonly [unknown, boolean])[], wanted: boolean): number[] =>
  given.flatMap(([, isGood], i) => (isGood === wanted ? [i + 1] : []))

describe('the CLI and the daemon judge alike', () => {
  test('the rows of an import', async () => {
    const given = rows()
    const sheet = sheetOf(given.map(([cells]) => cells))
    writeFileSync(join(here.home, 'chips.csv'), sheet)
    const flags = ['--file', 'chips.csv', '--chip-group', 'Values', '--key-set', '101']
    const ran = await here.run('chips', 'import', ...flags)
    expect(rowsIn(ran.stderr)).toEqual(numbersOf(given, false))
    const response = await fetch(
      `${daemon.url}/admin/chips/import?team=Acme&chipGroup=Values&keySet=101&dryRun=true`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${daemon.adminToken}`, 'content-type': 'text/csv' },
        body: sheet,
      },
    )
    const answers = (await response.text())
      .split('\n')
      .filter((line) => line !== '')
      .map((line): { row: number; status: string } => JSON.parse(line))
    const failed = answers.filter(({ status }) => status === 'failed').map(({ row }) => row)
    expect([answers.length, failed]).toEqual([given.length, numbersOf(given, false)])
  })

  test('the rows of an apply, in the words of an import', async () => {
    // An apply has no file read keys; whether an item is missing depends on the chip, unless its cell is empty.
    const given = rows().filter(([cells]) => cells.fileReadKey === undefined)
    const sheet = sheetOf(given.map(([cells]) => ({ chipGroup: 'Applied', keySet: '101', ...cells })))
    writeFileSync(join(here.home, 'chips.csv'), sheet)
    const flags = ['--file', 'chips.csv', '--chip-group', 'Applied', '--key-set', '101', '--dry-run']
    const imported = await here.run('chips', 'import', ...flags, '--ignore-columns', 'chipGroup,keySet')
    const applied = await here.run('chips', 'apply', '--file', 'chips.csv', '--dry-run')
    expect([applied.code, rowsIn(applied.stderr)]).toEqual([2, numbersOf(given, false)])
    expect(applied.stderr).toBe(imported.stderr)
  })

  test.each([
    ['keySet', '4294967296', 'must be a whole number from 0 to 4294967295'],
    ['chipGroup', 'x'.repeat(201), 'must be 1 to 200 characters of text'],
    ['label', 'x'.repeat(201), 'must be 1 to 200 characters of text'],
    ['item', 'x'.repeat(65), 'must be the id of an item'],
    ['chainId', '0', 'must be a whole number from 1'],
    ['disabled', 'maybe', 'must be true or false'],
    ['redirectUrl', 'javascript:x', 'must not use the scheme javascript:'],
  ])('a sheet, a condition, and a request have the same words for %s', async (column, cell, why) => {
    const token = column === 'chainId' ? { contractAddress: contract, tokenId: '7' } : {}
    writeFileSync(join(here.home, 'chips.csv'), sheetOf([{ ...token, [column]: cell }]))
    const sheet = await here.run('chips', 'apply', '--file', 'chips.csv', '--dry-run')
    expect([sheet.code, sheet.stderr]).toEqual([
      2,
      expect.stringContaining(`row 1, ${column}: "${cell}" ${why}\n`),
    ])
    const where = await here.run('chips', 'list', '--where', `${column}=${cell}`)
    expect([where.code, where.stderr]).toEqual([2, `--where ${column} "${cell}" ${why}.\n`])
    const headers = { authorization: `Bearer ${daemon.adminToken}`, 'content-type': 'application/x-ndjson' }
    const body = `${JSON.stringify({ uid: uidOf(1), ...token, [column]: cell })}\n`
    const posted = await fetch(`${daemon.url}/admin/chips/apply?team=Acme`, { method: 'POST', headers, body })
    expect(await posted.text()).toContain(`Nothing was done. row 1: ${column} ${why}"`)
    const query = new URLSearchParams({ team: 'Acme', [column]: cell })
    const selected = await fetch(`${daemon.url}/admin/chips/export?${query}`, { headers })
    expect(await selected.text()).toContain(`"${column}: ${why}"`)
  })

  test('a chip that an apply would register needs a key set that exists, and a whole token', async () => {
    const given = [{ keySet: '999' }, { keySet: '101', tokenId: '7' }]
    writeFileSync(
      join(here.home, 'chips.csv'),
      sheetOf(given.map((cells) => ({ chipGroup: 'Applied', ...cells }))),
    )
    const ran = await here.run('chips', 'apply', '--file', 'chips.csv', '--dry-run', '--json')
    expect([ran.code, ran.lines()]).toMatchObject([
      3,
      [
        {
          row: 1,
          status: 'failed',
          error: 'keySet 999 does not exist. Create it first: tapchip key-sets create.',
        },
        {
          ...{ row: 2, status: 'failed' },
          error:
            'contractAddress, chainId is missing: contractAddress, chainId, and tokenId belong together.',
        },
      ],
    ])
  })

  test.each(urls)('the redirect URL %j', async (redirectUrl, isGood) => {
    writeFileSync(join(here.home, 'edits.csv'), `uid,redirectUrl\n${uids.blank},${quoted(redirectUrl)}\n`)
    const ran = await here.run('chips', 'edit', '--file', 'edits.csv', '--dry-run')
    const flags = ['--uid', uids.blank, '--redirect-url', redirectUrl, '--dry-run']
    const byFlags = await here.run('chips', 'edit', ...flags)
    const response = await fetch(`${daemon.url}/chips/batch?dryRun=true`, {
      method: 'POST',
      headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/x-ndjson' },
      body: `${JSON.stringify({ uid: uids.blank, redirectUrl })}\n`,
    })
    expect([ran.code, byFlags.code, response.status]).toEqual(isGood ? [0, 0, 200] : [2, 2, 400])
    if (!isGood) expect(ran.stderr).toMatch(/^row 1, redirectUrl: /m)
  })
})

describe('a sheet with such values is refused whole, and nothing is written', () => {
  test('by an import: neither a chip of its good rows nor its group is there afterwards', async () => {
    const given = rows()
    writeFileSync(join(here.home, 'chips.csv'), sheetOf(given.map(([cells]) => cells)))
    const flags = ['--file', 'chips.csv', '--chip-group', 'Refused', '--key-set', '101', '--yes']
    const ran = await here.run('chips', 'import', ...flags)
    const bad = numbersOf(given, false)
    expect([ran.code, ran.stdout, rowsIn(ran.stderr)]).toEqual([2, '', bad])
    expect(ran.stderr).toContain(
      `chips.csv was refused: ${bad.length} rows are invalid. Nothing was written.`,
    )
    const [good = 0] = numbersOf(given, true)
    expect((await here.run('chips', 'show', uidOf(good))).code).toBe(1)
    expect((await here.run('chip-groups', 'list')).stdout).not.toContain('Refused')
    expect((await here.run('batch', 'list', '--json')).json()).toEqual([])
  })

  test('by an edit: the chips of its good rows lead where they led', async () => {
    const before = (await here.run('chips', 'show', uids.blank, '--json')).json()
    const [good, ...bad] = [
      'https://example.com/new',
      ...urls.flatMap(([url, isGood]) => (isGood ? [] : [url])),
    ]
    const lines = [[uids.blank, good ?? ''], ...bad.map((url, i) => [uidOf(i), url])]
    writeFileSync(
      join(here.home, 'edits.csv'),
      ['uid,redirectUrl', ...lines.map((cells) => cells.map(quoted).join(','))].join('\n'),
    )
    const ran = await here.run('chips', 'edit', '--file', 'edits.csv')
    expect([ran.code, ran.stdout, rowsIn(ran.stderr)]).toEqual([2, '', bad.map((_, i) => i + 2)])
    expect((await here.run('chips', 'show', uids.blank, '--json')).json()).toEqual(before)
    expect((await here.run('batch', 'list', '--json')).json()).toEqual([])
  })
})
