import { NDEF_FILE } from '../../src/nfc/ntag424/layout.ts'
import { Chip } from './nfc.ts'

/** Keys of another system, one for each slot. */
export const theirKeys = [0, 1, 2, 3, 4].map((keyNo) => Buffer.alloc(16, 0x51 + keyNo))
export const theirKeysInHex = theirKeys.map((key) => key.toString('hex'))
const zero = Buffer.alloc(16)

const baseUrl = 'https://card.example/ln?p='
const picc = 7 + baseUrl.length - 'https://'.length
const mac = picc + 32 + '&c='.length

/** A chip that another system set up: a bolt card, as most have them, with its layout of keys. */
export function foreignChip({
  versions = [1, 1, 1, 1, 1],
  keys = theirKeys,
  variant = {},
  hasTap = true,
}: {
  versions?: readonly number[]
  keys?: readonly Buffer[]
  variant?: ConstructorParameters<typeof Chip>[1]
  hasTap?: boolean
} = {}): Chip {
  const chip = new Chip(undefined, variant)
  for (const [keyNo, slot] of chip.chip.memory.keys.entries())
    Object.assign(slot, { key: Buffer.from(keys[keyNo] ?? zero), version: versions[keyNo] ?? 0 })
  const file = chip.chip.memory.files.get(NDEF_FILE)
  if (!file || !hasTap) return chip
  const url = `${baseUrl.slice('https://'.length)}${'0'.repeat(32)}&c=${'0'.repeat(16)}`
  file.bytes = Buffer.alloc(256)
  file.bytes.writeUInt16BE(5 + url.length)
  file.bytes.write(`D101${(url.length + 1).toString(16).padStart(2, '0')}5504`, 2, 'hex')
  file.bytes.write(url, 7)
  const three = (value: number) => Buffer.of(value & 0xff, value >> 8, 0)
  // Read by all, written with key 0; meta key 1, file key 2; the MAC over nothing.
  file.settings = Buffer.concat([Buffer.from('4000E0C1FF12', 'hex'), three(picc), three(mac), three(mac)])
  return chip
}
