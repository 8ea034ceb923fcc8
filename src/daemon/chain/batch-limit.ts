/** Nodes accept at least a hundred calls in one batch; some accept no more. */
const maxBatch = 100
const trustedForMs = 600_000

/** Nodes do not say how many calls they accept in one batch, so this learns from the batches they refuse. */
export class BatchLimit {
  #size = maxBatch
  /** The largest batch that was answered, and the smallest that was refused. */
  #good = 1
  #bad: number | undefined
  #learntAt = 0

  get size(): number {
    return this.#size
  }

  /** The largest batch that the node accepts, if smaller than the default. */
  get learnt(): number | undefined {
    return this.#size === maxBatch ? undefined : this.#size
  }

  /** True if a batch of this size may be too large. */
  isTrial(count: number): boolean {
    return this.#bad !== undefined && count > this.#good
  }

  onRefused(count: number, now: number): void {
    this.#bad = Math.min(this.#bad ?? count, count)
    this.#good = Math.min(this.#good, Math.max(1, this.#bad - 1))
    this.#learn(now)
  }

  /** The refusal may have had a temporary cause, so larger batches are tried again later. */
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
