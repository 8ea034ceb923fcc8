import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { chips, openPhygitals, type Phygitals } from '../support/phygitals.ts'
import { byApproval, mintTo, teamTokenOf } from '../support/team-token.ts'

const fn = (name: string, ...types: string[]) => ({
  type: 'function',
  name,
  inputs: types.map((type) => ({ type })),
})
const abi = [
  fn('transferFrom', 'address', 'address', 'uint256'),
  fn('safeTransferFrom', 'address', 'address', 'uint256'),
  fn('safeTransferFrom', 'address', 'address', 'uint256', 'bytes'),
  fn('give', 'address', 'uint256'),
  fn('give', 'address', 'uint128'),
  fn('mintTo', 'address', 'uint256'),
  fn('mintTo', 'address', 'uint256', 'string'),
  fn('mint', 'address'),
  fn('mintMany', 'address', 'uint256[]'),
  { ...fn('look', 'address', 'uint256'), stateMutability: 'view' },
]

let p: Phygitals
let n = 0
beforeAll(async () => {
  p = await openPhygitals({ chain: false })
  return () => p.close()
})
const register = (fields: object) =>
  p.ask(
    '/admin/contracts',
    {
      ...{
        team: 'Acme',
        symbol: `C${++n}`,
        name: 'C',
        chainId: 5,
        address: `0x${String(n).padStart(40, '1')}`,
      },
      ...fields,
    },
    { headers: p.admin },
  )
const contracts = async () =>
  (await p.ask('/admin/contracts?team=Acme', undefined, { headers: p.admin })).body

test('functions are found by name, number of arguments and types, overloads included', async () => {
  const found: [object, object][] = [
    [{ transfer: 'safeTransferFrom(owner,recipient,tokenId)' }, {}],
    [
      { transfer: ' safeTransferFrom ( owner , recipient , tokenId , data ) ' },
      { transfer: 'safeTransferFrom(owner,recipient,tokenId,data)' },
    ],
    [{ mint: 'mintTo(recipient,tokenId,uri)' }, { transfer: null }],
    [{ mint: "mintTo(recipient,tokenId,'ipfs://x')", transfer: 'transferFrom(owner,recipient,tokenId)' }, {}],
    [{ transfer: 'safeTransferFrom(owner,recipient,tokenId,0x)' }, { mint: null }],
  ]
  for (const [given, shown] of found) {
    const { status, body } = await register({ abi, ...given })
    expect({ status, body }).toMatchObject({ status: 200, body: { ...given, ...shown } })
  }
})

test('an ABI may be human-readable lines', async () => {
  const lines = [
    'function mintTo(address to, uint256 tokenId) external',
    'error Closed(string why)',
    'event X(uint256 y)',
  ]
  expect((await register({ abi: lines, mint: mintTo })).body).toMatchObject({ mint: mintTo })
  expect(await register({ abi: ['function mintTo(address'], mint: mintTo })).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/line that is no ABI/) },
  })
})

test('structs that double at each level are passed over, and cost nothing', async () => {
  const structs = Array.from({ length: 200 }, (_, n) => `struct S${n} { S${n + 1} a; S${n + 1} b; }`)
  const lines = [...structs, 'struct S200 { uint256 a; }', 'function all(S0 s)']
  const lined = { abi: [...lines, 'function mintTo(address to, uint256 tokenId)'], mint: mintTo }
  expect((await register(lined)).body).toMatchObject({ mint: mintTo })
  expect((await register({ abi: lines, mint: 'all(recipient,tokenId)' })).status).toBe(400)
})

test('what the ABI lacks, or what fits nothing or too much, is refused in words, and nothing is written', async () => {
  const before = await contracts()
  const refused: [RegExp, object][] = [
    [/mint names the function mintWith, which the ABI lacks/, { mint: 'mintWith(recipient,tokenId)' }],
    [
      /has 4 arguments, but the ABI has mintTo\(address,uint256\), mintTo\(address,uint256,string\)/,
      { mint: 'mintTo(recipient,tokenId,1,2)' },
    ],
    [
      /fits several functions of the ABI: give\(address,uint256\), give\(address,uint128\)/,
      { transfer: 'give(recipient,tokenId)' },
    ],
    [
      /does not fit the types of transferFrom\(address,address,uint256\)/,
      { transfer: 'transferFrom(tokenId,owner,recipient)' },
    ],
    [/does not fit the types of mintMany/, { mint: 'mintMany(recipient,tokenId)' }],
    [/picks the ID itself/, { mint: 'mint(recipient)' }],
    [/must not have owner/, { mint: 'transferFrom(owner,recipient,tokenId)' }],
    [/must have the argument recipient/, { transfer: 'give(owner,tokenId)' }],
    [/which changes nothing/, { transfer: 'look(recipient,tokenId)' }],
    [/has the argument "amount"/, { transfer: 'safeTransferFrom(owner,recipient,tokenId,amount)' }],
    [/is of an ERC-1155 contract/, { abi: [...abi, fn('balanceOf', 'address', 'uint256')], mint: mintTo }],
    [/must be like/, { transfer: 'transferFrom' }],
    [/needs transfer or mint/, {}],
    [/name functions of it/, { abi: undefined, mint: mintTo }],
  ]
  for (const [words, given] of refused) {
    const { status, body } = await register({ abi, ...given })
    expect([status, body.message], words.source).toEqual([400, expect.stringMatching(words)])
  }
  expect(await contracts()).toEqual(before)
})

test('only what calls need is kept of an ABI', async () => {
  const long = Array.from({ length: 500 }, (_, i) => fn(`other${i}`, 'address'))
  const evil = { type: 'error', name: '\u001b[31m', inputs: [] }
  const { body } = await register({ abi: [...abi, ...long, evil], mint: mintTo })
  const row = await p.ctx.db.read
    .selectFrom('contracts')
    .select('calls')
    .where('id', '=', body.id)
    .executeTakeFirstOrThrow()
  expect(JSON.parse(row.calls ?? '')).toEqual({
    transfer: null,
    mint: { name: 'mintTo', types: ['address', 'uint256'], args: ['recipient', 'tokenId'] },
    baseUri: expect.stringMatching(/\/metadata\/5\/0x/),
    errors: [],
    roles: [],
  })
})

describe('the dry call', () => {
  const opened = async () => {
    const chain = await openPhygitals()
    onTestFinished(() => chain.close())
    return { q: chain, t: await teamTokenOf(chain) }
  }

  test('names the role and the approval that the relayer lacks, and how they are given', async () => {
    const { q, t } = await opened()
    await t.mint(1)
    const { relayer } = q.ctx.chains.get(31337)
    const { status, body } = await t.register()
    expect({ status, body }).toMatchObject({ status: 200, body: { transfers: 'refused', mints: 'refused' } })
    const [transfer, mint] = body.warnings
    expect(transfer).toContain(
      `The owner ${t.brand} has not approved the relayer ${relayer}. The owner does it: cast send ${t.address} 'setApprovalForAll(address,bool)' ${relayer} true`,
    )
    expect(mint).toMatch(/AccessControlUnauthorizedAccount/)
    expect(mint).toContain(`The relayer ${relayer} lacks the role MINTER_ROLE.`)
    expect(mint).toMatch(
      new RegExp(`cast send ${t.address} 'grantRole\\(bytes32,address\\)' 0x[0-9a-f]{64} ${relayer}$`),
    )
    await t.grant('MINTER_ROLE')
    await t.approve()
    const shown = await q.ask(`/admin/contracts/${body.id}`, undefined, { headers: q.admin })
    expect(shown.body).toMatchObject({ transfers: 'works', mints: 'works', warnings: [] })
  })

  test('says what it could not try, and which function is not given', async () => {
    const { t } = await opened()
    const { body } = await t.register({ mint: undefined })
    expect(body).toMatchObject({ transfers: 'unknown', mints: null })
    expect(body.warnings).toEqual([
      expect.stringMatching(/was not tried: no token was found/),
      expect.stringMatching(/nothing can be minted from here/),
    ])
  })

  test('shows the words of the contract in one clean line, and bounds them', async () => {
    const { q, t } = await opened()
    await t.mint(1)
    await t.grant('MINTER_ROLE')
    await t.behave('closed')
    const { body } = await t.register({ transfer: byApproval })
    expect(body.warnings[0]).toMatch(/ShopIsClosed\( \[31m<b>holiday<\/b> , 7\)/)
    await t.behave('flood')
    await t.link(chips.art(1), 1)
    const shown = await q.ask(`/admin/contracts/${body.id}`, undefined, { headers: q.admin })
    expect(shown.body.transfers).toBe('refused')
    for (const warning of shown.body.warnings) {
      expect(warning.length).toBeLessThan(900)
      expect(warning).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    }
  })

  test('finds nothing at an address without code', async () => {
    const { t } = await opened()
    const { body } = await t.register({ address: '0x00000000000000000000000000000000000000aa' })
    expect(body).toMatchObject({ code: 'none', transfers: null, mints: null })
    expect(body.warnings).toEqual([expect.stringMatching(/no contract at/)])
  })
})
