import { getAddress, type Hex } from 'viem'
import { getTransactionReceipt } from 'viem/actions'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyMetadata } from '../../src/values/token.ts'
import { bob, carol, chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { acmeKey, alice, otherKey } from '../support/seeds.ts'

const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
let p: Phygitals
beforeAll(async () => {
  p = await openPhygitals()
})
afterAll(() => p.close())

const send = async (path: string, rows: readonly (object | string)[], key = acmeKey) => {
  const answer = await p.app.inject({
    method: 'POST',
    url: path,
    headers: { 'x-svc-api-key': key, 'content-type': 'application/x-ndjson' },
    payload: rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'),
  })
  const lines = answer.body.split('\n').filter((line) => line !== '')
  return { status: answer.statusCode, text: answer.body, lines: lines.map((line) => JSON.parse(line)) }
}
const check = (...rows: (object | string)[]) => send('/phygitals/transfer/check', rows)
const move = (...rows: (object | string)[]) => send('/phygitals/transfer/batch', rows)
const describeAll = (rows: (object | string)[], dryRun = false) =>
  send(`/phygitals/metadata/batch${dryRun ? '?dryRun=true' : ''}`, rows)

describe('POST /phygitals/transfer/check', () => {
  test('says who has each token, what would happen, and what all of it takes', async () => {
    const { status, lines } = await check(
      { ...p.token('JKT', 1), recipient: bob },
      { ...p.token('JKT', 21), recipient: 'bob.eth' },
      { uid: chips.jacket(2), recipient: 'alice.eth' },
      { uid: chips.unminted(1), recipient: carol },
    )
    expect(status).toBe(200)
    expect(lines).toEqual([
      { row: 1, status: 'transfer', token: p.token('JKT', 1), owner: alice, recipient: getAddress(bob) },
      { row: 2, status: 'mint', token: p.token('JKT', 21), owner: null, recipient: getAddress(bob) },
      { row: 3, status: 'unchanged', token: p.token('JKT', 2), owner: alice, recipient: alice },
      {
        row: 4,
        status: 'mint',
        token: { ...p.token('JKT', 0), tokenId: null },
        owner: null,
        recipient: getAddress(carol),
      },
      {
        totals: [
          {
            chainId: 31337,
            transactions: 3,
            gas: expect.stringMatching(/^\d{6}$/),
            maxFeePerGas: expect.stringMatching(/^\d+$/),
            isOverCap: false,
            cost: expect.stringMatching(/^\d+$/),
            needed: expect.stringMatching(/^\d+$/),
            relayer: p.ctx.chains.get(31337).relayer,
            balance: expect.stringMatching(/^\d+$/),
            canPay: true,
          },
        ],
      },
    ])
    const [totals] = lines[4].totals
    // One that is there, two that are minted: what contracts of this kind take.
    expect(Number(totals.gas)).toBeGreaterThan(250_000)
    expect(Number(totals.gas)).toBeLessThan(400_000)
    expect(BigInt(totals.cost)).toBe(BigInt(totals.gas) * BigInt(totals.maxFeePerGas))
    expect((await p.transactions()).every(({ settledAt }) => settledAt !== null)).toBe(true)
  })

  test('tells what can never be meant from what is refused as things are', async () => {
    const { lines } = await check(
      { ...p.token('JKT', 1), recipient: '0xde709F2102306220921060314715629080e2fb77' },
      'nonsense',
      { uid: chips.jacket(1), tokenId: '1', recipient: bob },
      { ...p.token('JKT', 1), recipient: 'nobody.eth' },
      { ...p.token('JKT', 999), recipient: bob },
      { ...p.token('JKT', 1), recipient: p.addressOf('ART') },
      { uid: chips.unminted(9), recipient: bob },
    )
    expect(lines.slice(0, -1)).toMatchObject([
      { row: 1, status: 'invalid', error: expect.stringContaining('checksum') },
      { row: 2, status: 'invalid', error: 'is not valid JSON' },
      { row: 3, status: 'invalid', error: expect.stringContaining('either uid') },
      { row: 4, status: 'refused', error: expect.stringContaining('nobody.eth') },
      { row: 5, status: 'refused', error: expect.stringContaining('No such token') },
      { row: 6, status: 'refused', error: expect.stringContaining('ERC721InvalidReceiver'), owner: alice },
      { row: 7, status: 'refused', error: expect.stringContaining('has no contract') },
    ])
    expect(lines.at(-1)).toEqual({ totals: [] })
  })

  test('a relayer that is poor cannot pay', async () => {
    const { embedded } = p.ctx.chains
    const { relayer, client } = p.ctx.chains.get(31337)
    const rich = await client.getBalance({ address: relayer })
    const give = (wei: bigint) =>
      embedded?.request({ method: 'anvil_setBalance', params: [relayer, `0x${wei.toString(16)}`] })
    await give(1000n)
    const { lines } = await check({ ...p.token('JKT', 1), recipient: bob })
    await give(rich)
    expect(lines.at(-1)).toMatchObject({ totals: [{ balance: '1000', canPay: false }] })
  })
})

describe('POST /phygitals/transfer/batch', () => {
  test('moves each token, a line a row in order; one that cannot be done fails alone', async () => {
    const { status, lines } = await move(
      { ...p.token('JKT', 3), recipient: bob },
      { ...p.token('JKT', 999), recipient: bob },
      { uid: chips.jacket(4), recipient: 'bob.eth' },
    )
    expect(status).toBe(200)
    expect(lines).toEqual([
      { row: 1, status: 'transferred', initialTxHash: hash },
      { row: 2, status: 'failed', error: expect.stringContaining('No such token'), code: 'not_found' },
      { row: 3, status: 'transferred', initialTxHash: hash },
    ])
    expect(await p.owner('JKT', 3)).toBe(getAddress(bob))
    expect(await p.owner('JKT', 4)).toBe(getAddress(bob))
  })

  test('a row that comes again with its key is the same transfer, also while the first is under way', async () => {
    const row = { ...p.token('JKT', 5), recipient: bob, idempotencyKey: 'b_1:5:1' }
    const before = (await p.transactions()).length
    const [first, second] = await Promise.all([move(row), move(row)])
    const third = await move(row)
    expect(first.lines).toEqual([{ row: 1, status: 'transferred', initialTxHash: hash }])
    expect(second.lines).toEqual(first.lines)
    expect(third.lines).toEqual(first.lines)
    expect((await p.transactions()).length).toBe(before + 1)
    const other = await move({ ...row, recipient: carol })
    expect(other.lines).toMatchObject([{ row: 1, status: 'failed', code: 'idempotency_conflict' }])
  })

  test('many chips without a token get one each, though they ask at once', async () => {
    const uids = [1, 2, 3].map(chips.unminted)
    const { lines } = await move(...uids.map((uid) => ({ uid, recipient: carol })))
    expect(lines.map(({ status }) => status)).toEqual(Array(3).fill('transferred'))
    await p.settled()
    const { client } = p.ctx.chains.get(31337)
    const rows = await p.ctx.db.read
      .selectFrom('chips')
      .selectAll()
      .where('tokenRow', 'is not', null)
      .execute()
    const mine = rows.filter(({ uid }) => uids.map((hex) => String(BigInt(`0x${hex}`))).includes(uid))
    expect(new Set(mine.map(({ tokenRow }) => tokenRow)).size).toBe(3)
    const held = await client.readContract({
      address: p.addressOf('JKT'),
      abi: [
        {
          type: 'function',
          name: 'balanceOf',
          stateMutability: 'view',
          inputs: [{ type: 'address' }],
          outputs: [{ type: 'uint256' }],
        },
      ],
      functionName: 'balanceOf',
      args: [getAddress(carol)],
    })
    expect(held).toBe(3n)
  })

  test('a body with a row that does not fit is refused whole', async () => {
    const before = (await p.transactions()).length
    const { status, text } = await move({ ...p.token('JKT', 6), recipient: bob }, { recipient: bob }, 'x')
    expect(status).toBe(400)
    expect(JSON.parse(text).message).toMatch(/Nothing was done\. row 2: .*; row 3: is not valid JSON/)
    expect((await move()).status).toBe(400)
    expect((await p.transactions()).length).toBe(before)
  })

  test("another team's tokens are none of one's own", async () => {
    const row = { ...p.token('JKT', 6), recipient: bob }
    expect((await send('/phygitals/transfer/batch', [row], otherKey)).lines).toMatchObject([
      { status: 'failed', code: 'not_found' },
    ])
    expect((await send('/phygitals/transfer/check', [row], otherKey)).lines).toMatchObject([
      { status: 'refused' },
      { totals: [] },
    ])
  })
})

describe('while gas is too dear', () => {
  let usual: Phygitals
  beforeAll(async () => {
    usual = p
    // Rows that cannot be sent are answered after this time.
    p = await openPhygitals({ broadcastTimeoutMs: 100 })
  })
  afterAll(async () => {
    await p.close()
    p = usual
  })
  /** Sets the price of gas. From here on nothing is sent at the one before, which a tick under way may have read. */
  const price = async (wei: number) => {
    const { embedded, relayer } = p.ctx.chains
    await embedded?.request({ method: 'anvil_setNextBlockBaseFeePerGas', params: [`0x${wei.toString(16)}`] })
    await embedded?.mine()
    await relayer.tick()
  }

  test('a file that comes again while the first is on its way would change nothing, and says why', async () => {
    const { relayer } = p.ctx.chains
    await price(2e12)
    const rows = [
      { ...p.token('JKT', 18), recipient: bob },
      { uid: chips.unminted(4), recipient: carol },
    ]
    expect((await move(...rows)).lines.map(({ status }) => status)).toEqual(['queued', 'queued'])
    const [first, second] = (await p.transactions()).slice(-2).map(({ id }) => id)
    const again = await check(...rows, { ...p.token('JKT', 18), recipient: carol })
    expect(again.lines).toMatchObject([
      {
        status: 'unchanged',
        owner: getAddress(bob),
        note: `already under way: transaction ${first}`,
      },
      { status: 'unchanged', owner: getAddress(carol), note: `already under way: transaction ${second}` },
      // It goes on from whoever has it by then.
      { status: 'transfer', owner: getAddress(bob) },
      { totals: [{ transactions: 1 }] },
    ])
    // The last one counts, and only if nobody asked for its end.
    await move({ ...p.token('JKT', 18), recipient: carol })
    const toCarol = (await p.transactions()).at(-1)?.id ?? 0
    const later = async () =>
      (await check(rows[0] ?? {}, { ...p.token('JKT', 18), recipient: carol })).lines.slice(0, 2)
    expect(await later()).toMatchObject([
      { status: 'transfer', owner: getAddress(carol) },
      { status: 'unchanged', note: `already under way: transaction ${toCarol}` },
    ])
    expect(await relayer.cancel(toCarol, 'a mistake')).toBe(true)
    expect(await later()).toMatchObject([{ status: 'unchanged' }, { status: 'transfer' }])
    await price(1)
    await p.settled()
    const done = await check(...rows)
    expect(done.lines).toMatchObject([{ status: 'unchanged', owner: getAddress(bob) }, {}, {}])
    expect(done.lines[0]).not.toHaveProperty('note')
  })

  test('what waits for cheaper gas is owed: it is queued, and a repetition has its hash', async () => {
    await price(2e12)
    const row = { ...p.token('JKT', 11), recipient: bob, idempotencyKey: 'b_1:11:0' }
    const before = (await p.transactions()).length
    expect((await move(row)).lines).toEqual([{ row: 1, status: 'queued' }])
    await price(1)
    expect((await move(row)).lines).toEqual([{ row: 1, status: 'transferred', initialTxHash: hash }])
    expect((await p.transactions()).length).toBe(before + 1)
    expect(await p.owner('JKT', 11)).toBe(getAddress(bob))
  })
})

describe('POST /phygitals/metadata/batch', () => {
  const metadata = (name: string) => ({
    name,
    collection: 'Jackets',
    description: '',
    image: '',
    attributes: [],
    media_gallery: [],
  })

  test('replaces, says what was there, and leaves alone what is the same', async () => {
    const row = { ...p.token('JKT', 7), metadata: metadata('Seven') }
    const looked = await describeAll([row], true)
    expect(looked.lines).toMatchObject([
      { row: 1, status: 'changed', token: p.token('JKT', 7), previous: { name: 'Jacket #7' } },
      { totals: [{ transactions: 1 }] },
    ])
    const byChip = { uid: chips.jacket(8), metadata: JSON.stringify(metadata('Eight')) }
    const { lines } = await describeAll([row, byChip, { ...p.token('JKT', 999), metadata: metadata('x') }])
    expect(lines.map(({ status }) => status)).toEqual(['changed', 'changed', 'failed'])
    const served = await p.ask(`/metadata/31337/${p.addressOf('JKT')}/8`)
    expect(served.body).toEqual(metadata('Eight'))
    const before = (await p.transactions()).length
    expect((await describeAll([row, byChip])).lines.map(({ status }) => status)).toEqual([
      'unchanged',
      'unchanged',
    ])
    expect((await p.transactions()).length).toBe(before)
  })

  test('numbers that no double holds stay as they are, in what was there too', async () => {
    const edition = (n: string) =>
      JSON.stringify({ ...p.token('JKT', 16), metadata: { ...metadata('Sixteen'), edition: 0 } }).replace(
        '"edition":0',
        `"edition":${n}`,
      )
    await describeAll([edition('18446744073709551615')])
    for (const dryRun of [true, false]) {
      const { text } = await describeAll([edition('18446744073709551614')], dryRun)
      expect(text).toMatch(/"previous":\{[^}]*"edition":18446744073709551615[,}]/)
    }
  })

  test('restores that there was none, for one of ten at once, and only for whoever says what is there', async () => {
    const token = p.token('ART', 3)
    const first = metadata('First')
    expect((await describeAll([{ ...token, metadata: first, expected: null }])).lines).toMatchObject([
      { status: 'changed', previous: null },
    ])
    const bare = await describeAll([{ ...token, metadata: null }], true)
    expect(bare.lines[0]).toMatchObject({ status: 'invalid', error: expect.stringContaining('expected') })
    const back = { ...token, metadata: null, expected: first }
    const answers = await Promise.all(Array.from({ length: 10 }, () => describeAll([back])))
    expect(answers.map(({ lines }) => lines[0].status).sort()).toEqual([
      'changed',
      ...Array(9).fill('unchanged'),
    ])
    expect((await p.ask(`/metadata/31337/${p.addressOf('ART')}/3`)).body).toEqual(emptyMetadata)
    await describeAll([{ ...token, metadata: metadata('Later') }])
    expect((await describeAll([back])).lines).toMatchObject([{ status: 'failed' }])
  })

  test('announces the tokens of a contract together, in the write that changes them, and prices that before', async () => {
    const rows = [12, 13, 14, 13].map((n, at) => ({ ...p.token('JKT', n), metadata: metadata(`${n}-${at}`) }))
    const art = { ...p.token('ART', 1), metadata: metadata('Art') }
    const looked = await describeAll([...rows, art, 'nonsense'], true)
    expect(looked.lines.at(-1)).toEqual({
      totals: [
        {
          chainId: 31337,
          transactions: 2,
          gas: '53400',
          maxFeePerGas: expect.stringMatching(/^\d+$/),
          isOverCap: false,
          cost: expect.stringMatching(/^\d+$/),
          needed: expect.stringMatching(/^\d+$/),
          relayer: p.ctx.chains.get(31337).relayer,
          balance: expect.stringMatching(/^\d+$/),
          canPay: true,
        },
      ],
    })
    expect(looked.lines.at(-2)).toMatchObject({ row: 6, status: 'invalid' })
    const before = (await p.transactions()).length
    const { lines } = await describeAll([...rows, art])
    expect(lines.map(({ status }) => status)).toEqual(Array(5).fill('changed'))
    // The second row about one token found what the first left.
    expect(lines[3].previous.name).toBe('13-1')
    const sent = (await p.transactions()).slice(before)
    expect(sent.map(({ kind, subject }) => [kind, JSON.parse(subject)])).toEqual([
      ['phygital-refresh', { contractAddress: p.addressOf('JKT'), chainId: 31337, tokens: 3 }],
      ['phygital-refresh', { ...p.token('ART', 1) }],
    ])
    await p.settled()
    const { client } = p.ctx.chains.get(31337)
    const settled = await Promise.all(
      (await p.transactions())
        .slice(before)
        .map(({ minedHash }) => getTransactionReceipt(client, { hash: minedHash as Hex })),
    )
    expect(settled.map(({ status, logs }) => [status, logs.length])).toEqual([
      ['success', 3],
      ['success', 1],
    ])
    const gas = settled.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0)
    expect(Math.abs(gas - 53_400)).toBeLessThan(53_400 * 0.15)
    // What changes nothing costs nothing.
    expect((await describeAll([art], true)).lines.at(-1)).toEqual({ totals: [] })
  })

  test('leaves alone what was changed in the meantime, where it is told what to expect', async () => {
    const row = { ...p.token('JKT', 9), metadata: metadata('Nine'), expected: metadata('Other') }
    expect((await describeAll([row])).lines).toMatchObject([
      { status: 'failed', error: expect.stringContaining('in the meantime') },
    ])
  })

  test('restores what was stored before marketplaces’ rules were kept, and takes nothing new of that kind', async () => {
    const token = p.token('JKT', 11)
    const coloured = { ...metadata('Eleven'), background_color: '#ff8800' }
    const current = (await p.ask(`/metadata/31337/${token.contractAddress}/11`)).body
    expect((await describeAll([{ ...token, metadata: coloured }], true)).lines[0]).toEqual({
      row: 1,
      status: 'invalid',
      error: 'metadata.background_color: must be six hex digits without #: ff8800',
    })
    expect((await describeAll([{ ...token, metadata: coloured, expected: current }])).lines).toMatchObject([
      { status: 'changed' },
    ])
  })

  test('by the rules of one at a time: a dry run names what does not fit, a run refuses it whole', async () => {
    const { media_gallery: _, ...short } = metadata('Ten')
    const bad = { ...p.token('JKT', 10), metadata: { ...short, attributes: [{ value: 1 }] } }
    const good = { ...p.token('JKT', 10), metadata: metadata('Ten') }
    expect((await describeAll([good, bad], true)).lines).toMatchObject([
      { row: 1, status: 'changed' },
      {
        row: 2,
        status: 'invalid',
        error: expect.stringMatching(
          /(?=.*metadata\.attributes\.0\.trait_type: Required).*media_gallery: Required/,
        ),
      },
      { totals: [{ chainId: 31337, transactions: 1 }] },
    ])
    const refused = await describeAll([good, bad])
    expect(refused.status).toBe(400)
    expect((await p.ask(`/metadata/31337/${p.addressOf('JKT')}/10`)).body.name).toBe('Jacket #10')
  })

  test('a chip without a token has nothing to describe', async () => {
    const { lines } = await describeAll([{ uid: chips.unminted(9), metadata: metadata('x') }])
    expect(lines).toMatchObject([{ status: 'failed', error: expect.stringContaining('no token yet') }])
  })
})
