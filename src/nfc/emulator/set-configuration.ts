import { FREE, NEVER } from './file-rules.ts'
import type { ChipMemory } from './memory.ts'
import { Refusal } from './status.ts'

// The options of SetConfiguration, once access was checked. Source: NT4H2421Gx s10.5.1 Tables 50 and 52, and
// NT4H2421Tx s11.5.1 for option 07.

interface Option {
  readonly length: number
  /** @returns true if the session ends with it */
  readonly apply: (memory: ChipMemory, data: Buffer) => boolean
}

const OPTIONS: ReadonlyMap<number, Option> = new Map<number, Option>([
  [
    0x00,
    {
      length: 1,
      apply(memory, data) {
        const config = data.readUInt8()
        demand((config & ~0x02) === 0)
        if (config & 0x02) memory.randomId = true
        return false
      },
    },
  ],
  // Chained writing is not emulated, since no reader here uses it.
  [0x04, { length: 2, apply: () => false }],
  [
    0x05,
    {
      length: 10,
      apply(memory, data) {
        memory.capabilities = Buffer.from(data.subarray(8))
        if ((data.readUInt8(4) & 0x02) === 0) return false
        useLrp(memory)
        return true
      },
    },
  ],
  [
    0x07,
    {
      length: 2,
      apply({ tamper }, data) {
        if (!tamper) throw new Refusal('parameter')
        const keyNo = data.readUInt8(1)
        demand(keyNo <= 4 || keyNo === FREE || keyNo === NEVER)
        if (data.readUInt8() & 0x01) tamper.enabled = true
        tamper.keyNo = keyNo
        return false
      },
    },
  ],
  [
    0x0a,
    {
      length: 5,
      apply(memory, data) {
        const enabled = (data.readUInt8() & 0x01) !== 0
        const [limit, decrement] = [data.readUInt16LE(1), data.readUInt16LE(3)]
        demand(!enabled || limit > 0)
        memory.failures = enabled ? { enabled, limit, decrement } : { ...memory.failures, enabled }
        return false
      },
    },
  ],
  [
    0x0b,
    {
      length: 1,
      apply(memory, data) {
        memory.strongModulation = (data.readUInt8() & 0x01) !== 0
        return false
      },
    },
  ],
])

/** @returns true if the session ends with it, without a MAC @throws Refusal parameter, length */
export function configure(memory: ChipMemory, number: number, data: Buffer): boolean {
  const option = OPTIONS.get(number)
  if (!option) throw new Refusal('parameter')
  if (data.length !== option.length) throw new Refusal('length')
  return option.apply(memory, data)
}

/** Irreversible. PICCData is longer in LRP mode, so all mirroring is turned off: s9.3.4.2. */
function useLrp(memory: ChipMemory): void {
  memory.lrp = true
  for (const file of memory.files.values()) {
    const plain = Buffer.from(file.settings.subarray(0, 3))
    plain.writeUInt8(plain.readUInt8() & ~0x40)
    file.settings = plain
  }
}

function demand(isMet: boolean): void {
  if (!isMet) throw new Refusal('parameter')
}
