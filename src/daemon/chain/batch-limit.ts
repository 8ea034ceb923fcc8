/** Nodes accept a hundred calls at once, and some no more. */
const maxBatch = 100
const trustedForMs = 600_000

/** Nodes do not tell how many calls they accept in one request, so it is learnt from those that they refuse. */
export class BatchLimit {
  #size = maxBatch
  /** The largest batch that was answered, and the smallest that was refused. */
  #good = 1
  #bad: number | undefined
  #learntAt = 0

  get size(): number {
    return this.#size
  }

  /** The largest batch that it takes, if that is less than usual. */
  get learnt(): number | undefined {
    return this.#size === maxBatch ? undefined : this.#size
  }

  /** A batch of this size may be too large. */
  isTrial(count: number): boolean {
    return this.#bad !== undefined && count > this.#good
  }

  onRefused(count: number, now: number): void {
    this.#bad = Math.min(this.#bad ?? count, count)
    this.#good = Math.min(this.#good, Math.max(1, this.#bad - 1))
    this.#learn(now)
  }

  /** A refusal may have been about a passing fault, so larger batches are tried again after a while. */
  answered(count: number, now: number): void {
    if (this.#size === maxBatch) return
    this.#good = Math.max(this.#good, count)
    if (this.#bad !== undefined && this.#good >= this.#bad) this.#bad = undefined
    if (now - this.#learntAt >= trustedForMs) {
      this.#bad = undefined
      this.#size = Math.min(maxBatch, this.#size * 2)
      this.#learntAt = now
    } else if (this.#bad !== undefined && count === this.#size) this.#learn(now)
  }

  /** Halfway between what the node accepts and what it refuses. */
  #learn(now: number): void {
    const size = Math.max(1, Math.floor((this.#good + (this.#bad ?? maxBatch)) / 2))
    if (size !== this.#size) this.#learntAt = now
    this.#size = size
  }
}
