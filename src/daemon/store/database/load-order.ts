/** Keeps a slow load from putting back what a later one has replaced. */
export class LoadOrder {
  #begun = 0
  #done = 0

  /** @returns a function to ask once, when the data is there: true unless a load that began later was faster */
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
