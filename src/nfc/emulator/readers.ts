import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFile } from '../../values/files.ts'
import {
  type Card,
  type CardReader,
  type CardReaders,
  NoCard,
  NoReader,
  type ReaderEvent,
  type WaitForCard,
} from '../card.ts'
import { EmulatedCard, type TearOff, type VirtualChip, type VirtualLink } from './card.ts'
import { factoryMemory } from './memory.ts'
import { VirtualNtag424 } from './ntag424.ts'
import { VARIANTS, type VariantName } from './variants.ts'

/** The reader's name, as passed to `--reader`. */
const EMULATED_READER = 'emulator'

interface EmulatorOptions extends VirtualLink {
  /** Stores the card, including its keys. Default: the card lasts as long as the process. */
  readonly file?: string
  /** Number of new chips, one after another, in place of the stored one. The last of them is stored. */
  readonly blankCards?: number
  /** Variant of new chips. Default: a plain NTAG 424. */
  readonly variant?: VariantName
  /** Replaces the NTAG 424 of the file. */
  readonly chip?: VirtualChip
  /** Applies to the first card. */
  readonly tear?: TearOff
  readonly random?: (length: number) => Buffer
}

export class EmulatorFileError extends Error {
  constructor(file: string, cause: unknown) {
    super(`${file} does not contain an emulated card. Move it away to start with a new one`, { cause })
    this.name = new.target.name
  }
}

/** One virtual reader. When its card is removed, the next one is put down. */
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
      this.#options.blankCards !== undefined &&
      this.#presented >= this.#options.blankCards &&
      !this.#onReader()
    return [{ name: EMULATED_READER, state: empty ? 'empty' : 'present', isContact: false }]
  }

  async waitForCard({ reader, timeoutMs, signal }: WaitForCard = {}): Promise<Card> {
    signal?.throwIfAborted()
    if (reader !== undefined && reader !== EMULATED_READER) throw new NoReader(reader, [EMULATED_READER])
    const card = this.#onReader() ?? this.#next()
    if (card) return card
    // No other card will come.
    await pause(timeoutMs, signal)
    throw new NoCard()
  }

  /** Presents each fresh card in turn, or the stored card once. */
  async *events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<ReaderEvent, void, void> {
    const reader = EMULATED_READER
    yield { type: 'reader-added', reader }
    const count = this.#options.blankCards ?? 1
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
    this.#card = this.#card?.connected()
    return this.#card?.present ? this.#card : undefined
  }

  #next(): EmulatedCard | undefined {
    const { blankCards, tear, delayMs, maxLc } = this.#options
    if (blankCards !== undefined && this.#presented >= blankCards) return undefined
    const chip = this.#options.chip ?? this.#ntag424(blankCards !== undefined)
    this.#presented += 1
    const card = new EmulatedCard(EMULATED_READER, chip, {
      ...(tear && this.#presented === 1 ? { tear } : {}),
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(maxLc === undefined ? {} : { maxLc }),
      changed: this.#storeWhenChanged(chip),
    })
    this.#card = card
    return card
  }

  #ntag424(isBlank: boolean): VirtualNtag424 {
    const stored = isBlank ? undefined : (this.#load() ?? this.#chip)
    this.#chip = stored ?? this.#blank()
    return this.#chip
  }

  #blank(): VirtualNtag424 {
    const { variant } = this.#options
    const memory = factoryMemory(newUid(this.#random), variant && VARIANTS[variant])
    return new VirtualNtag424(memory, this.#random)
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

  /** Writes at every change, since a real chip forgets nothing either. */
  #storeWhenChanged(chip: VirtualChip): () => void {
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

/** NXP's manufacturer byte, then random bytes. */
export function newUid(random: (length: number) => Buffer = randomBytes): Buffer {
  return Buffer.concat([Buffer.of(0x04), random(6)])
}

/** @param ms default: the maximum of a timer @throws the signal's reason */
async function pause(ms = 2 ** 31 - 1, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {})
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
