import { describe, expect, test } from 'vitest'
import { readRecipient as readByDaemon } from '../../src/daemon/chain/names/recipient.ts'
import { readRecipient } from '../../src/values/recipient.ts'

const address = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const refusal = (given: string, chainId?: number): string | undefined => {
  const read = readRecipient(given, chainId)
  return 'reason' in read ? read.reason : undefined
}

test.each([
  ['', 'is empty'],
  [`${'a'.repeat(252)}.eth`, '256 characters'],
  ['0x12', '0x and 40 hex digits'],
  [address.slice(2), 'add 0x at the beginning'],
  [`0x${'0'.repeat(40)}`, 'zero address'],
  ['alice', 'neither an address'],
  ['bob@acme.eth', 'contains @'],
  ['https://acme.eth', 'contains :'],
])('%j is refused by its form, and so the daemon refuses it', (given, reason) => {
  expect(refusal(given)).toContain(reason)
  expect(() => readByDaemon(given)).toThrow(reason)
})

test.each([
  address,
  address.toLowerCase(),
  ` ${address}\n`,
  'alice.eth',
  '0xabc.eth',
  "alice's.eth",
  'shop.example',
])('%j is taken by its form, and by the daemon', (given) => {
  expect(refusal(given)).toBeUndefined()
  expect(() => readByDaemon(given)).not.toThrow()
})

describe('an address with the chain that its wallet writes before it', () => {
  const digits = address.slice(2)
  test.each([
    [`base:${address}`, 8453],
    [`eth:${address}`, 1],
    [`matic:${address}`, 137],
    [`pol:${address}`, 137],
    [`arb-sep:${address}`, 421614],
    [`CELO:${address}`, 42220],
    [`eip155:137:${address}`, 137],
    [` EIP155:31337:${address}\n`, 31337],
    [`matic:${address}`, undefined],
  ])('%j is taken on chain %s', (given, chainId) => {
    expect(readRecipient(given, chainId)).toEqual({ kind: 'address', digits })
    expect(readByDaemon(given, chainId)).toEqual({ kind: 'address', address })
  })

  test.each([
    [`matic:${address}`, 8453, 'names chain 137 (matic), and this token is on chain 8453 (base)'],
    [`eip155:137:${address}`, 31337, 'names chain 137 (matic), and this token is on chain 31337'],
    [`eip155:4711:${address}`, 1, 'names chain 4711, and this token is on chain 1 (eth)'],
    [`polygon:${address}`, 137, 'begins with polygon:, which is not a chain known here'],
    [`ethereum:${address}`, undefined, "with the chain's number, such as eip155:1:0x…"],
    [`toString:${address}`, 1, 'begins with toString:'],
    [`eip155:${address}`, 8453, 'such as eip155:8453:0x…'],
    [`eip155:0:${address}`, 8453, 'begins with eip155:0:'],
    ['base:alice.eth', 8453, 'contains :'],
    ['base:0x12', 8453, '0x and 40 hex digits'],
    [`base:0x${'0'.repeat(40)}`, 8453, 'zero address'],
  ])('%j is refused on chain %s', (given, chainId, reason) => {
    expect(refusal(given, chainId)).toContain(reason)
    expect(() => readByDaemon(given, chainId)).toThrow(reason)
  })

  test('keeps its checksum', () => {
    expect(() => readByDaemon(`base:${address.replace('d8dA', 'D8dA')}`, 8453)).toThrow('wrong checksum')
  })
})

test('no sign makes a recipient refused by its form that the daemon would take', () => {
  const signs = Array.from({ length: 0x7f - 0x21 }, (_, i) => String.fromCharCode(0x21 + i))
  const disagreed = signs.filter((sign) => {
    const given = `a${sign}b.eth`
    if (refusal(given) === undefined) return false
    try {
      readByDaemon(given)
      return true
    } catch {
      return false
    }
  })
  expect(disagreed).toEqual([])
})
