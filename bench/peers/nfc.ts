// Setting chips up without the executables: the same keys, plan and scripts, on the emulator in this process and on
// its chips behind a real pcscd. And the hand that lays chips on pcscd's reader, for whoever sets them up.
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Card } from '../../src/nfc/card.ts'
import type { VirtualChip } from '../../src/nfc/emulator/card.ts'
import { factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { EmulatorReaders, newUid } from '../../src/nfc/emulator/readers.ts'
import { AesKey } from '../../src/nfc/ntag424/cmac.ts'
import { an10922, chipKeyInput, planKeys } from '../../src/nfc/ntag424/diversify.ts'
import { PcscReaders } from '../../src/nfc/pcsc/readers.ts'
import { apply } from '../../src/nfc/provision/apply.ts'
import { inspect } from '../../src/nfc/provision/inspect.ts'
import { type KeysOf, ofKeySets, plan } from '../../src/nfc/provision/plan.ts'
import { readBack } from '../../src/nfc/provision/read-back.ts'
import { runScript } from '../../src/nfc/script.ts'
import type { PrivatePcscd } from '../../tests/support/pcsc/pcscd.ts'
import type { PresentedCard } from '../../tests/support/pcsc/vpcd.ts'

export { startPcscd } from '../../tests/support/pcsc/pcscd.ts'

/** As the seed file has it. */
export interface BenchKeySet {
  readonly id: number
  readonly metaReadKey: string
  readonly fileReadKey: string
  readonly appMasterKey: string
  readonly systemIdentifier: string
}

/** One chip's way, in milliseconds of this process's clock. */
export interface ChipRun {
  /** When the reader was seen to give it power, or it was at hand. */
  readonly seenAt: number
  readonly doneAt: number
  /** Spent inside the virtual chip. */
  readonly cardMs: number
  readonly apdus: number
}

/** A blank chip that counts what it is told and how long it takes over it. */
class ClockedChip implements VirtualChip {
  readonly #chip = new VirtualNtag424(factoryMemory(newUid()))
  readonly atr = this.#chip.atr
  cardMs = 0
  apdus = 0

  process(apdu: Uint8Array): Buffer {
    const start = performance.now()
    const answer = this.#chip.process(apdu)
    this.cardMs += performance.now() - start
    this.apdus += 1
    return answer
  }

  powerOff(): void {
    this.#chip.powerOff()
  }

  /** @throws Error where a key is still the factory's */
  assertSetUp(): void {
    if (this.#chip.memory.keys.some(({ version }) => version !== 1))
      throw new Error('A chip was called done and has keys of the factory')
  }
}

interface Laid {
  readonly chip: ClockedChip
  seenAt: number | undefined
}

/** Lays blank chips on the first reader, the next as soon as one is done, and no slower than code can. */
export class Hand {
  readonly #pcscd: PrivatePcscd
  readonly runs: ChipRun[] = []
  #laid: Laid | undefined
  #card: PresentedCard | undefined

  constructor(pcscd: PrivatePcscd) {
    this.#pcscd = pcscd
  }

  /** Takes off what lies there and lays the next one down. */
  async lay(): Promise<void> {
    this.lift()
    const chip = new ClockedChip()
    const laid: Laid = { chip, seenAt: undefined }
    this.#laid = laid
    this.#card = await this.#pcscd.present(0, {
      reset: () => {
        laid.seenAt ??= performance.now()
        chip.powerOff()
      },
      transmit: (apdu) => chip.process(apdu),
    })
  }

  /** The reader has noticed the chip; so it has also noticed that the one before went. */
  async noticed(): Promise<void> {
    const late = new AbortController()
    const tooLate = delay(10_000, undefined, { signal: late.signal }).then(() => {
      throw new Error('pcscd did not notice a chip on its reader within 10 s')
    })
    tooLate.catch(() => undefined)
    await Promise.race([this.#card?.powered, tooLate]).finally(() => late.abort())
  }

  /** Somebody says that the chip on the reader is set up. */
  done(): void {
    const doneAt = performance.now()
    const { chip, seenAt } = this.#laid ?? {}
    if (!chip || seenAt === undefined) throw new Error('A chip was called done that no reader had seen')
    chip.assertSetUp()
    this.runs.push({ seenAt, doneAt, cardMs: chip.cardMs, apdus: chip.apdus })
  }

  lift(): void {
    this.#card?.remove()
    this.#card = undefined
    this.#laid = undefined
  }
}

export interface Peers {
  /** On EmulatorReaders. */
  emulator(count: number): Promise<ChipRun[]>
  /** On chips behind pcscd, through the reader process that the executable has too. */
  pcscd(hand: Hand, count: number): Promise<ChipRun[]>
}

/** The same set-up in this process, without a daemon: no HTTP, no journal, no registry. */
export function peersOf(keySet: BenchKeySet, baseUrl: string, pcsc: { env: NodeJS.ProcessEnv }): Peers {
  const deps = { keysOf: keysFrom(keySet), random: randomBytes }
  const setUp = async (card: Card): Promise<void> => {
    const inspection = await runScript(card, inspect(card.atr))
    const wanted = plan({
      uid: inspection.uid,
      from: ['factory'],
      target: { keySet: keySet.id, generation: 0 },
      template: { baseUrl, text: '?^d={keySet}&e={picc}&c={mac}' },
    })
    const applied = await runScript(card, apply(wanted, inspection, deps))
    const tap = await runScript(card, readBack(wanted, deps))
    if (applied !== 'applied' || tap === null) throw new Error('The chip was not set up')
  }
  return {
    async emulator(count) {
      const runs: ChipRun[] = []
      for (let at = 0; at < count; at++) {
        const chip = new ClockedChip()
        const readers = new EmulatorReaders({ chip })
        const seenAt = performance.now()
        await setUp(await readers.waitForCard())
        const doneAt = performance.now()
        chip.assertSetUp()
        runs.push({ seenAt, doneAt, cardMs: chip.cardMs, apdus: chip.apdus })
        await readers.close()
      }
      return runs
    },
    async pcscd(hand, count) {
      await hand.lay()
      await hand.noticed()
      const hostScript = fileURLToPath(new URL('../../dist/reader-host.cjs', import.meta.url))
      const readers = new PcscReaders({ hostScript, env: pcsc.env })
      try {
        for (;;) {
          const card = await readers.waitForCard({ timeoutMs: 10_000 })
          await setUp(card)
          hand.done()
          if (hand.runs.length === count) return hand.runs
          await hand.lay()
          await card.removed()
          await card.release()
        }
      } finally {
        hand.lift()
        await readers.close()
      }
    },
  }
}

/** As the daemon has them of a key set that derives per chip. */
function keysFrom(keySet: BenchKeySet): KeysOf {
  const bytes = (hex: string) => Buffer.from(hex, 'hex')
  const applicationMaster = new AesKey(bytes(keySet.appMasterKey))
  const fileRead = bytes(keySet.fileReadKey)
  const metaRead = bytes(keySet.metaReadKey)
  const systemIdentifier = bytes(keySet.systemIdentifier)
  return ofKeySets(({ generation }, uid) => {
    const input = { uid, systemIdentifier, generation }
    return planKeys({
      ...input,
      applicationMaster,
      fileRead: an10922(fileRead, chipKeyInput(input)),
      metaRead,
    })
  })
}
