import { expect, test } from 'vitest'
import { readRecipient as readByDaemon } from '../../src/daemon/chain/names/recipient.ts'
import { readRecipient } from '../../src/values/recipient.ts'

const address = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const refusal = (given: string): string | undefined => {
  const read = readRecipient(given)
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
