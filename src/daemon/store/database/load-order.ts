/** Keeps a slow load from overwriting the result of a later one. */
export class LoadOrder {
  #begun = 0
  #done = 0

  /** @returns a function to call once the data has arrived: true unless a later load was faster */
  begin(): () => boolean {
    this.#begun += 1
    const mine = this.#begun
    return () => {
      if (mine < this.#done) return false
      this.#done = mine
      return true
    }
  }
}
