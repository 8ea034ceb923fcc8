import { FREE, type ParsedSettings, parseSettings } from './file-rules.ts'
import type { ChipMemory, VirtualFile } from './memory.ts'
import { mirrored } from './sdm.ts'
import { PLAIN } from './secure-channel.ts'
import { Refusal } from './status.ts'

const COUNTER_END = 0xffffff

/** A file with its settings understood. @throws Refusal noSuchFile */
export function fileOf(memory: ChipMemory, number: number): VirtualFile & { rules: ParsedSettings } {
  const file = memory.files.get(number)
  if (!file) throw new Refusal('noSuchFile')
  return { ...file, rules: parseSettings(file.settings, number, file.bytes.length) }
}

/**
 * Whether a reader may, and how the bytes then travel: as the file says where its key opened the session, in plain
 * where everybody may. Source: NT4H2421Gx s8.2.3.3, s8.2.3.5
 * @param keyNo of the session, if there is one @throws Refusal permissionDenied
 */
export function grant(rights: readonly number[], mode: number, keyNo: number | undefined): number {
  if (keyNo !== undefined && rights.includes(keyNo)) return mode
  if (rights.includes(FREE)) return PLAIN
  throw new Refusal('permissionDenied')
}

/** The tap that goes on: the same bytes for every chunk, until another command comes between. */
export class TapView {
  #shown: { file: number; bytes: Buffer } | undefined
  readonly #memory: ChipMemory
  readonly #random: (length: number) => Buffer

  constructor(memory: ChipMemory, random: (length: number) => Buffer) {
    this.#memory = memory
    this.#random = random
  }

  end(): void {
    this.#shown = undefined
  }

  /**
   * A file as one without a key sees it. Counts the tap, once. @param limited what to answer at the counter's end
   * Source: NT4H2421Gx s9.3.2
   */
  bytes(number: number, limited: Refusal): Buffer {
    const memory = this.#memory
    const file = fileOf(memory, number)
    const { sdm } = file.rules
    if (!sdm) return file.bytes
    if (this.#shown?.file !== number) {
      if (memory.sdmReadCounter >= Math.min(sdm.limit ?? COUNTER_END, COUNTER_END)) throw limited
      memory.sdmReadCounter += 1
      const counter = memory.sdmReadCounter
      const { uid, keys } = memory
      const padding = this.#random(5)
      this.#shown = { file: number, bytes: mirrored({ sdm, file: file.bytes, uid, counter, keys, padding }) }
    }
    return this.#shown.bytes
  }
}
