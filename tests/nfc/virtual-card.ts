import { createHash } from 'node:crypto'
import { EmulatedCard, type TearOff } from '../../src/nfc/emulator/card.ts'
import { type ChipMemory, factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { an10922, chipKeyInput, planKeys } from '../../src/nfc/ntag424/diversify.ts'
import { type KeysOf, ofKeySets } from '../../src/nfc/provision/plan.ts'
import { runScript, type Script } from '../../src/nfc/script.ts'
import { uidFromBytes } from '../../src/nfc/uid.ts'

export const uidBytes = Buffer.from('04DE5F1EACC040', 'hex')
export const uid = uidFromBytes(uidBytes)
export const template = {
  baseUrl: 'https://n.example',
  text: '?^d={keySet}&e={picc}&c={mac}',
} as const

/** Bytes that look random and are the same at each run of a test. */
export function steadyRandom(seed = 'seed'): (length: number) => Buffer {
  let calls = 0
  return (length) => {
    calls += 1
    return createHash('shake128', { outputLength: length }).update(`${seed} ${calls}`).digest()
  }
}

/** A key of a key set, by name. */
export const master = (keySet: number, name: string): Buffer =>
  createHash('sha256').update(`${keySet} ${name}`).digest().subarray(0, 16)

export const keysOf: KeysOf = ofKeySets(({ keySet, generation }, bytes) => {
  const input = { uid: bytes, systemIdentifier: Buffer.from('TC'), generation }
  return planKeys({
    ...input,
    applicationMaster: master(keySet, 'application'),
    fileRead: an10922(master(keySet, 'file-read'), chipKeyInput(input)),
    metaRead: master(keySet, 'meta-read'),
  })
})

export const deps = (seed?: string) => ({ keysOf, random: steadyRandom(seed) })

/** A chip that can be put down again and again. */
export class TestChip {
  readonly chip: VirtualNtag424
  /** APDUs in all. */
  sent = 0

  constructor(memory: ChipMemory = factoryMemory(uidBytes)) {
    this.chip = new VirtualNtag424(memory, steadyRandom('chip'))
  }

  get memory(): ChipMemory {
    return this.chip.memory
  }

  /** Runs a script on the chip, and returns the APDUs that it sent. */
  async commands(script: Script<unknown>): Promise<Uint8Array[]> {
    const sent: Uint8Array[] = []
    const transmit = async (apdu: Uint8Array) => {
      sent.push(apdu)
      return this.chip.process(apdu)
    }
    await runScript({ transmit }, script)
    return sent
  }

  /** Puts the chip down and runs a script on it. */
  async run<Result>(script: Script<Result>, tear?: TearOff): Promise<Result> {
    const card = new EmulatedCard('test', this.chip, tear ? { tear } : {})
    try {
      return await runScript(card, script)
    } finally {
      this.sent += card.sent
      card.lift()
    }
  }
}
