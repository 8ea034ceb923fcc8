import type { ChipMemory } from './memory.ts'

const CLOSED = 'C'
const OPEN = 'O'
/** Shown while the feature is off, and until the activation after it was turned on. */
const INVALID = 'I'

/** The wire loop of a TagTamper chip. Source: NT4H2421Tx s8.2.4.5, s11.9.1 */
export class TamperLoop {
  readonly #memory: ChipMemory
  #measures = false

  constructor(memory: ChipMemory) {
    this.#memory = memory
  }

  /** Measures once for each time that the chip gets power, while processing its first command. */
  powerUp(): void {
    this.#measures = this.#memory.tamper?.enabled === true
    this.status()
  }

  /** @returns two ASCII characters: what the chip remembers, and what it measures now. An opened loop is remembered for ever */
  status(): Buffer {
    const { tamper } = this.#memory
    if (!tamper || !this.#measures) return Buffer.from(INVALID + INVALID)
    if (tamper.current === OPEN) tamper.permanent = OPEN
    return Buffer.from((tamper.permanent === OPEN ? OPEN : CLOSED) + tamper.current)
  }
}
