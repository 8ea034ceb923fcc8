import { describe, expect, test } from 'vitest'
import { CC_FILE, NDEF_FILE } from '../../../src/nfc/ntag424/layout.ts'
import { apply } from '../../../src/nfc/provision/apply.ts'
import { ReadBackMismatch } from '../../../src/nfc/provision/errors.ts'
import { inspect } from '../../../src/nfc/provision/inspect.ts'
import { plan } from '../../../src/nfc/provision/plan.ts'
import { readBack } from '../../../src/nfc/provision/read-back.ts'
import { deps, TestChip, template, uid } from '../virtual-card.ts'

const made = plan({ uid, from: ['factory'], target: { keySet: 101, generation: 0 }, template })

async function applied(change: (chip: TestChip) => void): Promise<TestChip> {
  const chip = new TestChip()
  const script = function* () {
    return yield* apply(made, yield* inspect(), deps())
  }
  await chip.run(script())
  change(chip)
  return chip
}

const setting = (chip: TestChip, file: number, hex: string): void => {
  const found = chip.memory.files.get(file)
  if (found) found.settings = Buffer.from(hex, 'hex')
}
const key = (chip: TestChip, keyNo: number, value: { key?: Buffer; version?: number }): void => {
  Object.assign(chip.memory.keys[keyNo] ?? {}, value)
}

describe('reading back finds', () => {
  test.each<[string, (chip: TestChip) => void, RegExp]>([
    ['another key 0', (chip) => key(chip, 0, { key: Buffer.alloc(16) }), /its key 0 is different/],
    ['a slot that was left out', (chip) => key(chip, 4, { version: 0 }), /key 4 has version 0, not 1/],
    ['another key 1, by the tap', (chip) => key(chip, 1, { key: Buffer.alloc(16) }), /its tap is invalid/],
    ['another key 2, by the tap', (chip) => key(chip, 2, { key: Buffer.alloc(16) }), /its tap is invalid/],
    ['settings that are open', (chip) => setting(chip, NDEF_FILE, '00E0EE'), /different settings/],
    [
      'another URL',
      (chip) => chip.memory.files.get(NDEF_FILE)?.bytes.write('m', 7),
      /its NDEF file has different content/,
    ],
    [
      'an open capability file that cannot be closed',
      (chip) => setting(chip, CC_FILE, '00EFEE'),
      /capability/,
    ],
  ])('%s', async (_, change, message) => {
    const chip = await applied(change)
    const reading = chip.run(readBack(made, deps()))
    await expect(reading).rejects.toThrow(ReadBackMismatch)
    await expect(chip.run(readBack(made, deps()))).rejects.toThrow(message)
  })

  test('and closes a capability file that somebody had opened', async () => {
    const chip = await applied((one) => setting(one, CC_FILE, '00E0EE'))
    expect(await chip.run(readBack(made, deps()))).toMatchObject({ counter: 1 })
    expect(chip.memory.files.get(CC_FILE)?.settings.toString('hex')).toBe('0000e0')
  })

  test('each time one tap, and no failed authentication on a good chip', async () => {
    const chip = await applied(() => undefined)
    for (const counter of [1, 2, 3]) expect(await chip.run(readBack(made, deps()))).toMatchObject({ counter })
    expect(chip.memory.failedAuthentications).toBe(0)
  })
})
