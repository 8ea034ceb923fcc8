const waitingAtMost = 256

interface Line {
  inside: number
  readonly waiting: Set<() => void>
}

/** Lets so many of each owner in at once. The others wait in the order in which they came, and not for ever. */
export class Turns {
  readonly #most: number
  readonly #waitMs: number
  readonly #lines = new Map<number, Line>()

  constructor(most: number, waitMs: number) {
    this.#most = most
    this.#waitMs = waitMs
  }

  /** @param told at once or later, once: whether it may go in. @returns what has to be called in the end, in any case */
  take(owner: number, told: (mayGo: boolean) => void): () => void {
    const line = this.#lines.get(owner) ?? { inside: 0, waiting: new Set() }
    this.#lines.set(owner, line)
    if (line.inside >= this.#most && line.waiting.size >= waitingAtMost) {
      told(false)
      return () => undefined
    }
    let isInside = false
    let patience: NodeJS.Timeout | undefined
    const stopWaiting = () => {
      clearTimeout(patience)
      line.waiting.delete(goIn)
    }
    const goIn = () => {
      stopWaiting()
      isInside = true
      line.inside += 1
      told(true)
    }
    if (line.inside < this.#most) goIn()
    else {
      line.waiting.add(goIn)
      patience = setTimeout(() => {
        stopWaiting()
        told(false)
      }, this.#waitMs)
    }
    return () => {
      stopWaiting()
      if (!isInside) return
      isInside = false
      line.inside -= 1
      const [next] = line.waiting
      if (next) next()
      else if (line.inside === 0) this.#lines.delete(owner)
    }
  }
}
