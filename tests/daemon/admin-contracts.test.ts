import { keccak256 } from 'viem/utils'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contractSalt, futureAddress } from '../../src/daemon/domain/contract-address.ts'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({
    seed: {
      version: 1,
      teams: [
        {
          name: 'Acme',
          contracts: [{ symbol: 'FUT', name: 'Future', chainId: 31337 }],
          guestbookContracts: [{ symbol: 'GB', name: 'Guests', chainId: 31337 }],
        },
        { name: 'Globex' },
      ],
    },
  })
})
afterEach(() => t.close())

const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const register = (fields: object = {}) =>
  t.call('POST /admin/contracts', {
    team: 'Acme',
    symbol: 'JKT',
    name: 'Jackets',
    chainId: 1,
    address,
    ...fields,
  })

test.each([address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`])(
  'a deployed contract is registered as confirmed, its address %s shown with its checksum',
  async (given) => {
    const twoTap = { delaySeconds: 60, windowSeconds: 3600 }
    const registered = await register({ address: given, twoTap })
    expect(registered).toMatchObject({
      status: 200,
      body: {
        team: 'Acme',
        kind: 'phygital',
        symbol: 'JKT',
        chainId: 1,
        address,
        status: 'confirmed',
        twoTap,
      },
    })
    expect((await t.audit('action=contracts.create'))[0]).toMatchObject({
      actor: 'admin:root',
      target: 'JKT',
      team: 'Acme',
    })
  },
)

test('a contract without an address is pending and shows the one it will get; a guestbook’s shows null', async () => {
  expect((await t.call('GET /admin/contracts?team=Acme')).body).toMatchObject([
    {
      symbol: 'FUT',
      kind: 'phygital',
      status: 'pending',
      address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    },
    { symbol: 'GB', kind: 'guestbook', status: 'pending', address: null },
  ])
})

test('the same address on a chain is registered once, whoever asks, and is free on another chain', async () => {
  expect(await tenTimes(() => register())).toEqual({ 200: 1, 409: 9 })
  const other = { team: 'Globex', symbol: 'OTHER', address: address.toLowerCase() }
  expect(await register(other)).toMatchObject({ status: 409, body: { code: 'already_exists' } })
  expect((await register({ ...other, chainId: 2 })).status).toBe(200)
})

test('a symbol is taken once in a team, a guestbook’s included', async () => {
  const another = '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512'
  expect((await register({ symbol: 'GB' })).status).toBe(409)
  expect((await register({ symbol: 'FUT' })).status).toBe(409)
  await register()
  expect((await register({ address: another })).status).toBe(409)
  expect((await register({ address: another, team: 'Globex' })).status).toBe(200)
})

test.each([
  ['address', { address: '0x12' }],
  ['address', { address: undefined }],
  ['address', { address: `0x${'0'.repeat(40)}` }],
  ['chainId', { chainId: 0 }],
  ['symbol', { symbol: '' }],
  ['twoTap', { twoTap: { delaySeconds: -1, windowSeconds: 5 } }],
])('a contract whose %s does not fit is refused, naming it', async (field, fields) => {
  const refused = await register(fields)
  expect(refused.status).toBe(400)
  expect(refused.body.message).toContain(field)
})

describe('the address of a contract to come', () => {
  const place = { instance: 'i1', chainId: 31337, team: 'Acme', symbol: 'JKT' }

  test('is the same on every dev chain, and another for each team, symbol and chain', () => {
    expect(futureAddress({ ...place, instance: 'i2' })).toBe(futureAddress(place))
    const others = [
      { ...place, team: 'Acm', symbol: 'eJKT' },
      { ...place, symbol: 'GB' },
      { ...place, chainId: 1 },
      { ...place, chainId: 1, instance: 'i2' },
    ].map(futureAddress)
    expect(new Set([futureAddress(place), ...others]).size).toBe(5)
  })

  test('is the one that CREATE3 gives, and never changes from one version to the next', () => {
    // By hand: CREATE2 is the hash of 0xff, factory, salt and code hash (EIP-1014); CREATE with nonce 1 is that of
    // the RLP of both. The code hash is the one that Solmate's and Solady's CREATE3 have.
    const codeHash = '21c35dbe1b344a2488cf3321d6ce542f8e9f305544ff09e4993a62319a497c1f'
    const salt = contractSalt(place).slice(2)
    const proxy = keccak256(`0xff4e59b44847b379578588920cA78FbF26c0B4956C${salt}${codeHash}`).slice(26)
    const address = keccak256(`0xd694${proxy}01`).slice(26)
    expect(futureAddress(place).toLowerCase()).toBe(`0x${address}`)
    expect(futureAddress(place)).toBe('0x151cF5f9746dA7Fb6C5c7D78983E5b74087bD6C0')
  })
})
