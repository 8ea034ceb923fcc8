import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFile } from '../../values/replace-file.ts'
import {
  type Card,
  type CardReader,
  type CardReaders,
  NoCard,
  NoReader,
  type ReaderEvent,
  type WaitForCard,
} from '../card.ts'
import { EmulatedCard, type Tear } from './card.ts'
import type { VirtualChip } from './chip.ts'
import { factoryMemory } from './memory.ts'
import { VirtualNtag424 } from './ntag424.ts'

/** The name of the only reader, and of what `--reader` takes. */
export const EMULATED_READER = 'emulator'

export interface EmulatorOptions {
  /** Where the card is kept, with its keys; a card that is not kept lasts as long as the process. */
  readonly file?: string
  /** So many new chips, one after another, instead of the kept one; the last of them is kept. */
  readonly fresh?: number
  /** Instead of an NTAG 424 of the file. */
  readonly chip?: VirtualChip
  /** Lifts the first card early. */
  readonly tear?: Tear
  readonly random?: (length: number) => Buffer
}

/** The file of the emulated card is none. */
export class EmulatorFileError extends Error {
  constructor(file: string, cause: unknown) {
    super(`${file} holds no emulated card. Move it away to start with a new one`, { cause })
    this.name = new.target.name
  }
}

/** One virtual reader with one card at a time. A card that goes makes place for the next. */
export class EmulatorReaders implements CardReaders {
  readonly #options: EmulatorOptions
  readonly #random: (length: number) => Buffer
  #card: EmulatedCard | undefined
  #chip: VirtualNtag424 | undefined
  #presented = 0

  constructor(options: EmulatorOptions = {}) {
    this.#options = options
    this.#random = options.random ?? randomBytes
  }

  async list(): Promise<readonly CardReader[]> {
    const empty =
      this.#options.fresh !== undefined && this.#presented >= this.#options.fresh && !this.#onReader()
    return [{ name: EMULATED_READER, state: empty ? 'empty' : 'present' }]
  }

  async waitForCard({ reader, timeoutMs, signal }: WaitForCard = {}): Promise<Card> {
    signal?.throwIfAborted()
    if (reader !== undefined && reader !== EMULATED_READER) throw new NoReader(reader, [EMULATED_READER])
    const card = this.#onReader() ?? this.#next()
    if (card) return card
    // Nobody will put another down.
    await pause(timeoutMs, signal)
    throw new NoCard()
  }

  /** Puts one card down after another: as many as are fresh, or the kept one once. */
  async *events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<ReaderEvent, void, void> {
    const reader = EMULATED_READER
    yield { type: 'reader-added', reader }
    const count = this.#options.fresh ?? 1
    for (let i = 0; i < count && !signal?.aborted; i += 1) {
      const card = this.#onReader() ?? this.#next()
      if (!card) break
      yield { type: 'card', reader, card }
      card.lift()
      yield { type: 'card-removed', reader }
    }
    await pause(undefined, signal).catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#card?.lift()
  }

  #onReader(): EmulatedCard | undefined {
    return this.#card?.present ? this.#card : undefined
  }

  #next(): EmulatedCard | undefined {
    const { fresh, tear } = this.#options
    if (fresh !== undefined && this.#presented >= fresh) return undefined
    const chip = this.#options.chip ?? this.#ntag424(fresh !== undefined)
    this.#presented += 1
    const card = new EmulatedCard(EMULATED_READER, chip, {
      ...(tear && this.#presented === 1 ? { tear } : {}),
      changed: this.#keeper(chip),
    })
    this.#card = card
    return card
  }

  #ntag424(fresh: boolean): VirtualNtag424 {
    const kept = fresh ? undefined : (this.#load() ?? this.#chip)
    this.#chip = kept ?? new VirtualNtag424(factoryMemory(newUid(this.#random)), this.#random)
    return this.#chip
  }

  #load(): VirtualNtag424 | undefined {
    const { file } = this.#options
    if (file === undefined) return undefined
    let text: string
    try {
      text = readFileSync(file, 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
    try {
      return VirtualNtag424.fromJSON(JSON.parse(text), this.#random)
    } catch (error) {
      throw new EmulatorFileError(file, error)
    }
  }

  /** Writes the chip when it changed, whole or not at all: a real one forgets nothing either. */
  #keeper(chip: VirtualChip): () => void {
    const { file } = this.#options
    if (file === undefined || !(chip instanceof VirtualNtag424)) return () => undefined
    let written = ''
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    return () => {
      const text = JSON.stringify(chip.toJSON())
      if (text === written) return
      replaceFile(file, `${text}\n`)
      written = text
    }
  }
}

/** NXP's manufacturer byte, then chance. */
export function newUid(random: (length: number) => Buffer = randomBytes): Buffer {
  return Buffer.concat([Buffer.of(0x04), random(6)])
}

/** Default: as long as a timer can. @throws what the signal is aborted with */
async function pause(ms = 2 ** 31 - 1, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {})
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
