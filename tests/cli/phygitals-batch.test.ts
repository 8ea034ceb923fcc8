import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { colons, readUid } from '../../src/cli/uid.ts'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { bob, carol, chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey, alice } from '../support/seeds.ts'

interface Shown {
  budget: { transactionsToday: number }
}
const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
let jackets = ''
let art = ''

beforeAll(async () => {
  daemon = await startTestDaemon({ seed: phygitalSeed, chain: true })
  const contracts = await daemon.ctx.db.read.selectFrom('contracts').selectAll().execute()
  jackets = contracts.find(({ symbol }) => symbol === 'JKT')?.address ?? ''
  art = contracts.find(({ symbol }) => symbol === 'ART')?.address ?? ''
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey })
})
afterEach(() => here.remove())

const file = (name: string, text: string): string => {
  writeFileSync(join(here.home, name), text)
  return name
}
/** A CSV of tokens of JKT, and who gets them. */
const sheet = (name: string, rows: readonly (readonly [number | string, string])[], contract = jackets) =>
  file(
    name,
    `contractAddress,chainId,tokenId,recipient\n${rows.map(([n, to]) => `${contract},31337,${n},${to}\n`).join('')}`,
  )
const transfer = (...args: string[]) => here.run('phygitals', 'transfer', ...args)
const transactions = () => daemon.ctx.db.read.selectFrom('transactions').selectAll().orderBy('id').execute()
const settled = async () => {
  for (const { id } of await transactions()) await daemon.ctx.chains.relayer.settled(id)
}
const owner = async (n: number) => {
  await settled()
  return ownerOf(daemon.ctx.chains.get(31337).client, getAddress(jackets), BigInt(n))
}
const listed = async () => (await here.run('batch', 'list', '--json')).json()
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''

describe('phygitals transfer --file', () => {
  test('transfers the tokens of a CSV, a line a row in order, names and addresses alike', async () => {
    sheet('a.csv', [
      [1, bob],
      [2, 'bob.eth'],
      [3, carol],
    ])
    const ran = await transfer('--file', 'a.csv', '--json', '--yes')
    expect(ran.stderr).toMatch(/Batch b_[0-9a-z]{14}: 3 rows/)
    expect(ran.lines()).toEqual([1, 2, 3].map((row) => ({ row, status: 'transferred', initialTxHash: hash })))
    expect(ran.code).toBe(0)
    expect([await owner(1), await owner(2), await owner(3)]).toEqual(
      [bob, bob, carol].map((a) => getAddress(a)),
    )
    const id = batchId(ran.stderr)
    expect((await here.run('batch', 'list', '--json')).json()).toMatchObject([
      { id, kind: 'phygitals transfer', state: 'done', total: 3, changed: 3, unchanged: 0, failed: 0 },
    ])
    const report = (await here.run('batch', 'report', id, '--json')).lines()
    expect(report[1]).toEqual({
      row: 2,
      contractAddress: jackets,
      chainId: 31337,
      tokenId: '2',
      recipient: getAddress(bob),
      previousOwner: alice,
      status: 'transferred',
      initialTxHash: hash,
    })
    expect((await here.run('batch', 'resume', id)).stderr).toContain('Every row has a result')
  })

  test('off a terminal needs --yes, and sends nothing without it', async () => {
    sheet('unsure.csv', [[1, carol]])
    const before = [(await transactions()).length, await listed()]
    const ran = await transfer('--file', 'unsure.csv')
    expect([ran.code, ran.stdout]).toEqual([2, ''])
    expect(ran.stderr).toMatch(/Transfer 1 token\? This costs up to .* Confirm with --yes\n$/)
    expect([(await transactions()).length, await listed()]).toEqual(before)
  })

  test('the same file again changes nothing and costs nothing', async () => {
    sheet('again.csv', [
      [1, bob],
      [2, 'bob.eth'],
    ])
    const before = (await transactions()).length
    const ran = await transfer('--file', 'again.csv', '--json')
    expect(ran.code).toBe(0)
    expect(ran.lines()).toEqual([1, 2].map((row) => ({ row, status: 'unchanged' })))
    expect((await transactions()).length).toBe(before)
  })

  test('takes chips instead of tokens, JSON lines, standard input, and an own sheet', async () => {
    here.stdin = `{"TagID":"${chips.jacket(4)}","recipient":"${bob}","note":"x"}\n{"TagID":"${chips.unminted(1)}","recipient":"carol"}\n`
    const refused = await transfer('--file', '-', '--map', 'uid=TagID', '--ignore-columns')
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('row 2, recipient: "carol" is neither'),
    ])
    here.stdin = here.stdin.replace('"carol"', `"${carol}"`)
    const ran = await transfer('--file', '-', '--map', 'uid=TagID', '--ignore-columns', '--json', '--yes')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('2 transferred')])
    expect(await owner(4)).toBe(getAddress(bob))
  })

  test('a file with rows that do not fit is refused whole, every one of them named', async () => {
    const before = [(await transactions()).length, await listed()]
    file(
      'bad.csv',
      [
        'contractAddress,chainId,tokenId,recipient',
        `${jackets},31337,5,${bob}`,
        `0x12,31337,5,${bob}`,
        `${jackets},0,5,${bob}`,
        `${jackets},31337,minus,${bob}`,
        `${jackets},31337,6,0x${'0'.repeat(40)}`,
        `${jackets.toLowerCase()},31337,05,${bob}`,
        `${jackets},31337,7,`,
        `${jackets},31337,8`,
        `${jackets},31337,9,base:${bob}`,
        '',
      ].join('\n'),
    )
    const ran = await transfer('--file', 'bad.csv', '--json')
    expect(ran.code).toBe(2)
    expect(ran.stdout).toBe('')
    const named = [
      'row 2, contractAddress: "0x12" must be an address',
      'row 3, chainId: "0" must be',
      'row 4, tokenId: "minus" must be',
      'row 5, recipient: "0x0000000000000000000000000000000000000000" is the zero address',
      'row 6, tokenId: "05" of this contract is already in row 1',
      'row 7, recipient: is missing',
      // Spreadsheets leave out the empty cells at the end of a row.
      'row 8, recipient: is missing',
      `row 9, recipient: "base:${bob}" names chain 8453 (base), and this token is on chain 31337`,
    ]
    for (const line of named) expect(ran.stderr).toContain(line)
    // What only the daemon sees: checksums, and two chips that carry one token.
    sheet('sum.csv', [
      [5, bob],
      [6, '0xde709F2102306220921060314715629080e2fb77'],
    ])
    const sum = await transfer('--file', 'sum.csv')
    expect([sum.code, sum.stderr]).toEqual([
      2,
      expect.stringContaining(
        'row 2, recipient: "0xde709F2102306220921060314715629080e2fb77" has a wrong checksum',
      ),
    ])
    file(
      'twice.jsonl',
      `{"uid":"${chips.jacket(5)}","recipient":"${bob}"}\n{"contractAddress":"${jackets}","chainId":31337,"tokenId":5,"recipient":"${bob}"}\n`,
    )
    const twice = await transfer('--file', 'twice.jsonl')
    expect([twice.code, twice.stderr]).toEqual([
      2,
      expect.stringContaining('row 2: moves the same token as row 1'),
    ])
    expect((await transfer('--file', 'none.csv', '--recipient', bob)).code).toBe(2)
    expect([(await transactions()).length, await listed()]).toEqual(before)
  })

  test('what the sheet shows and what the daemon finds is named together, in the order of the rows', async () => {
    const [first = '', second] = [chips.jacket(5), chips.jacket(6)].map((uid) => colons(readUid(uid)))
    file(
      'both.csv',
      [
        'uid,recipient',
        `${first},0xde709F2102306220921060314715629080e2fb77`,
        `${second},0x12`,
        `${chips.jacket(7)},bob@acme.eth`,
        `${first.toLowerCase()},${bob}`,
        `${chips.jacket(8)},${bob}`,
        '',
      ].join('\n'),
    )
    const ran = await transfer('--file', 'both.csv')
    expect(ran.code).toBe(2)
    expect(ran.stderr.split('\n')).toEqual([
      `At ${daemon.url} (TAPCHIP_URL), team Acme`,
      expect.stringMatching(/^Batch b_[0-9a-z]{14}: 3 rows$/),
      expect.stringMatching(/^row 1, recipient: "0xde\w+" has a wrong checksum/),
      'row 2, recipient: "0x12" must be an address: 0x and 40 hex digits',
      'row 3, recipient: "bob@acme.eth" is not an ENS name: it contains @',
      `row 4, uid: "${first.toLowerCase()}" is already in row 1`,
      'both.csv was refused: 4 rows are invalid. Nothing was written.',
      '',
    ])
    // A daemon that does not answer keeps nobody from learning what is wrong with the sheet itself.
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    const offline = await transfer('--file', 'both.csv')
    expect([offline.code, offline.stderr]).toEqual([2, expect.stringContaining('row 2, recipient: "0x12"')])
  })

  test('what an earlier run left under --failed is not fed back again', async () => {
    sheet('fine.csv', [[1, bob]])
    file('again.csv', 'contractAddress,chainId,tokenId,recipient\nold,1,2,3\n')
    const ran = await transfer('--file', 'fine.csv', '--failed', 'again.csv')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('again.csv now has only the heading')])
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8').trim()).toBe(
      'contractAddress,chainId,tokenId,recipient,error',
    )
    expect((await transfer('--file', 'again.csv')).stderr).toContain('has no rows')
  })

  test('tells who had a token from not knowing it', async () => {
    here.env.TAPCHIP_ADMIN_TOKEN = daemon.adminToken
    await here.run('chips', 'unlink', chips.unminted(9), '--item', '--yes')
    file('empty.csv', `uid,recipient\n${chips.unminted(9)},${bob}\n`)
    const empty = await transfer('--file', 'empty.csv', '--dry-run')
    expect(empty.stdout).toContain('carries no token. Give it one: tapchip chips link')
    file('named.csv', `uid,recipient\n${chips.jacket(2)},${alice}\n`)
    expect((await transfer('--file', 'named.csv', '--dry-run')).stdout).toContain(
      `${colons(readUid(chips.jacket(2)))})  #2 of ${jackets} on 31337`,
    )
    sheet('who.csv', [
      [999, bob],
      [20, art],
    ])
    const ran = await transfer('--file', 'who.csv', '--yes')
    expect(ran.stderr).toContain(`failed  → ${bob}`)
    expect(ran.stderr).toContain(`${alice} → `)
    expect(ran.stderr).not.toContain('nobody')
    expect(ran.stderr).not.toContain('used up')
    const id = batchId(ran.stderr)
    const report = (await here.run('batch', 'report', id, '--json')).lines()
    expect(report.map((line) => (line as { previousOwner?: string }).previousOwner)).toEqual([
      undefined,
      alice,
    ])
  })

  test('a row that the daemon refuses fails alone, and can be fed back', async () => {
    sheet('part.csv', [
      [9, bob],
      [999, bob],
      [10, 'nobody.eth'],
      [11, art],
    ])
    const ran = await transfer('--file', 'part.csv', '--json', '--failed', 'again.csv', '--yes')
    expect(ran.code).toBe(3)
    expect(ran.lines()).toEqual([
      { row: 1, status: 'transferred', initialTxHash: hash },
      { row: 2, status: 'failed', error: expect.stringContaining('No such token') },
      { row: 3, status: 'failed', error: expect.stringContaining('nobody.eth') },
      { row: 4, status: 'failed', error: expect.stringContaining('ERC721InvalidReceiver') },
    ])
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8').split('\n').slice(0, 3)).toEqual([
      'contractAddress,chainId,tokenId,recipient,error',
      expect.stringMatching(`^${jackets},31337,999,${bob},"?No such token`),
      expect.stringMatching(`^${jackets},31337,10,nobody.eth,.`),
    ])
    const id = batchId(ran.stderr)
    const report = await here.run('batch', 'report', id, '--failed', '--json')
    expect(report.lines().map((line) => (line as { row: number }).row)).toEqual([2, 3, 4])
    const resumed = await here.run('batch', 'resume', id, '--retry-failed', '--json')
    expect(resumed.code).toBe(3)
    expect(resumed.lines()).toHaveLength(3)
    expect((await here.run('batch', 'status', id, '--json')).json()).toMatchObject({ changed: 1, failed: 3 })
  })

  test('cannot be undone, and says why', async () => {
    sheet('u.csv', [[12, bob]])
    const ran = await transfer('--file', 'u.csv', '--yes')
    const undone = await here.run('batch', 'undo', batchId(ran.stderr), '--yes')
    expect([undone.code, undone.stderr]).toEqual([2, expect.stringContaining('new owners')])
    expect(undone.stderr).toContain(`tapchip batch report ${batchId(ran.stderr)}`)
    expect(await owner(12)).toBe(getAddress(bob))
  })

  test('a batch that is named is not done twice, and another sheet does not pass for it', async () => {
    sheet('named.csv', [
      [5, carol],
      [999, bob],
    ])
    const named = ['--file', 'named.csv', '--name', 'spring', '--yes', '--json']
    const before = (await transactions()).length
    const ran = await transfer(...named)
    const again = await transfer(...named)
    expect([ran.code, ran.lines()]).toEqual([
      3,
      [
        { row: 1, status: 'transferred', initialTxHash: hash },
        { row: 2, status: 'failed', error: expect.stringContaining('No such token') },
      ],
    ])
    expect([again.code, again.stdout]).toEqual([3, ran.stdout])
    expect(again.stderr).toContain('(spring) was started before, and is done')
    expect((await transactions()).length).toBe(before + 1)
    sheet('named.csv', [[6, carol]])
    const other = await transfer(...named)
    expect([other.code, other.stdout]).toEqual([2, ''])
    expect((await transactions()).length).toBe(before + 1)
  })

  test('Ctrl-C stops after the rows on their way, and resumed, each token moves once', async () => {
    sheet('stop.csv', [
      [7, bob],
      [8, bob],
      [13, bob],
    ])
    const before = (await transactions()).length
    const ran = await here.interruptedRun(
      (out) => out.includes('"row":1,'),
      ...['phygitals', 'transfer', '--file', 'stop.csv', '--yes', '--json', '--rate', '1'],
    )
    expect([ran.code, ran.stderr]).toEqual([
      130,
      expect.stringMatching(/Stopped after [12] of 3\. Continue: tapchip batch resume b_/),
    ])
    const id = batchId(ran.stderr)
    const resumed = await here.run('batch', 'resume', id, '--rate', '1000', '--json')
    expect([resumed.code, [...ran.lines(), ...resumed.lines()]]).toEqual([
      0,
      [1, 2, 3].map((row) => ({ row, status: 'transferred', initialTxHash: hash })),
    ])
    expect((await transactions()).length).toBe(before + 3)
    expect([await owner(7), await owner(8), await owner(13)]).toEqual(Array(3).fill(getAddress(bob)))
  })

  test('a token that somebody moved between plan and start stays where it is', async () => {
    sheet('later.csv', [
      [17, bob],
      [18, bob],
    ])
    const at = new Date(Date.now() + 2000).toISOString()
    const ran = await transfer('--file', 'later.csv', '--at', at, '--detach', '--yes', '--json')
    const { id } = ran.json() as { id: string }
    await here.run('phygitals', 'transfer', '--uid', chips.jacket(17), '--recipient', carol)
    const followed = await here.run('batch', 'follow', id, '--json')
    expect([followed.code, followed.lines()]).toEqual([
      3,
      [
        { row: 1, status: 'conflict', error: expect.stringContaining('another owner') },
        { row: 2, status: 'transferred', initialTxHash: hash },
      ],
    ])
    expect(await owner(17)).toBe(getAddress(carol))
    const report = await here.run('batch', 'report', id, '--failed')
    expect(report.stdout).toContain(`row 1  #17 of ${jackets} on 31337  conflict  ${alice} → `)
  })

  test('one transfer is no batch: what only a batch does is not left out silently', async () => {
    const one = ['--uid', chips.jacket(14), '--recipient', bob]
    for (const flag of [['--at', '2099-11-27T18:00Z'], ['--propose'], ['--name', 'x'], ['--detach']]) {
      const ran = await transfer(...one, ...flag)
      expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`${flag[0]} is for batches.`)])
    }
    sheet('until.csv', [[14, bob]])
    const until = await transfer('--file', 'until.csv', '--until', '2099-11-27T18:00Z', '--yes')
    expect([until.code, until.stderr]).toEqual([2, expect.stringContaining('cannot be undone')])
  })
})

describe('--dry-run', () => {
  test('shows who has each token, what would happen to it, and what all of it takes', async () => {
    sheet('dry.csv', [
      [14, 'bob.eth'],
      [21, carol],
      [15, alice],
      [16, 'nobody.eth'],
    ])
    const before = [(await transactions()).length, await listed()]
    const ran = await transfer('--file', 'dry.csv', '--dry-run')
    expect(ran.code).toBe(3)
    expect(ran.stdout.split('\n')).toEqual([
      `row 1  #14 of ${jackets} on 31337  transfer  ${alice} → ${getAddress(bob)} (bob.eth)`,
      `row 2  #21 of ${jackets} on 31337  mint  nobody → ${getAddress(carol)}`,
      `row 3  #15 of ${jackets} on 31337  unchanged  ${alice} → ${alice}`,
      expect.stringMatching(/^row 4 {2}#16 of .* {2}refused {2}recipient: nobody\.eth has no address/),
      '',
    ])
    expect(ran.stderr).toContain('Dry run: 1 transfer, 1 mint, 1 unchanged, 1 would fail. Nothing was sent.')
    expect(ran.stderr).toMatch(
      /Chain 31337: 2 transactions need \d{3},\d{3} gas, at [\d.]+ gwei at most 0\.000\d+ ether; 0x[0-9a-fA-F]{40} has [\d,.]+ ether\./,
    )
    expect([(await transactions()).length, await listed()]).toEqual(before)
    const json = (await transfer('--file', 'dry.csv', '--dry-run', '--json')).lines()
    expect(json[0]).toEqual({
      row: 1,
      status: 'transfer',
      token: { contractAddress: jackets, chainId: 31337, tokenId: '14' },
      owner: alice,
      recipient: getAddress(bob),
    })
    expect(json.at(-1)).toMatchObject({ totals: [{ chainId: 31337, transactions: 2, canPay: true }] })
  })

  test.each([
    // Asks for a fifth of an ether a transaction, and cannot be read.
    ['0x6702c68af0bb1400005f5260205ff3', / at most 0\.000\d+ ether, plus 0\.4 ether in L1 fees; 0x/],
    ['0x5f5ffd', /^The L1 fee of chain 31337 cannot be read now\. It comes on top of the cost/m],
  ])('says what the OP stack charges beside gas: %s', async (oracle, said) => {
    const other = await startTestDaemon({ seed: phygitalSeed, chain: true })
    onTestFinished(() => other.stop())
    await other.ctx.chains.embedded?.request({
      method: 'anvil_setCode',
      params: ['0x420000000000000000000000000000000000000F', oracle],
    })
    here.env.TAPCHIP_URL = other.url
    file('l1.csv', `uid,recipient\n${chips.jacket(1)},${bob}\n${chips.jacket(2)},${bob}\n`)
    const ran = await transfer('--file', 'l1.csv', '--dry-run')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringMatching(said)])
  })

  test('says where it is more than the team may send today; the rows beyond fail, and go through once it may', async () => {
    here.env.TAPCHIP_ADMIN_TOKEN = daemon.adminToken
    const { transactionsToday } = ((await here.run('teams', 'show', 'Acme', '--json')).json() as Shown).budget
    const limit = (n: string) => here.run('teams', 'edit', 'Acme', '--transactions-per-day', n)
    await limit(String(transactionsToday + 1))
    try {
      sheet('much.csv', [
        [19, bob],
        [20, bob],
      ])
      const dry = await transfer('--file', 'much.csv', '--dry-run')
      expect(dry.code).toBe(0)
      expect(dry.stderr).toMatch(
        /The team may send 1 transaction more today .* needs 2 transactions\. The rows beyond the limit will fail/,
      )
      const ran = await transfer('--file', 'much.csv', '--json', '--yes')
      expect(ran.code).toBe(3)
      expect(
        ran
          .lines()
          .map((line) => (line as { status: string }).status)
          .sort(),
      ).toEqual(['failed', 'transferred'])
      expect(ran.stdout).toContain('would exceed that. Try again after 00:00 UTC')
      await limit('default')
      const again = await here.run('batch', 'resume', batchId(ran.stderr), '--retry-failed')
      expect(again.code).toBe(0)
      expect([await owner(19), await owner(20)]).toEqual([getAddress(bob), getAddress(bob)])
    } finally {
      await limit('default')
    }
  })

  test('a batch that the relayer cannot pay is refused before the first row, with what is missing', async () => {
    const { embedded } = daemon.ctx.chains
    const { relayer, client } = daemon.ctx.chains.get(31337)
    const rich = await client.getBalance({ address: relayer })
    const give = (wei: bigint) =>
      embedded?.request({ method: 'anvil_setBalance', params: [relayer, `0x${wei.toString(16)}`] })
    sheet('poor.csv', [
      [15, bob],
      [16, bob],
    ])
    const before = [(await transactions()).length, await listed()]
    await give(20_000_000_000_000n)
    try {
      for (const args of [[], ['--dry-run']]) {
        const ran = await transfer('--file', 'poor.csv', ...args)
        expect(ran.code).toBe(1)
        expect(ran.stderr).toMatch(
          /The relayer of chain 31337 cannot pay for this: 2 transactions need [\d,]+ gas, at [\d.]+ gwei at most 0\.000\d+ ether; 0x\w{40} has 0\.00002 ether\.\nNothing was sent\.\nSend at least 0\.000\d+ ether to 0x\w{40} on chain 31337/,
        )
      }
      expect([(await transactions()).length, await listed()]).toEqual(before)
    } finally {
      await give(rich)
    }
    expect((await transfer('--file', 'poor.csv', '--yes')).code).toBe(0)
    expect(await owner(16)).toBe(getAddress(bob))
  })
})
