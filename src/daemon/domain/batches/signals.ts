/** Tells those who follow a batch that it moved on. Batches that other daemons run are looked at now and then. */
export class BatchSignals {
  readonly #listeners = new Map<string, Set<() => void>>()

  notify(id: string): void {
    for (const listener of this.#listeners.get(id) ?? []) listener()
  }

  /** Resolves when the batch moves on, after a while at the latest, or once the signal aborts. */
  async next(id: string, withinMs: number, stopped: AbortSignal): Promise<void> {
    if (stopped.aborted) return
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners)
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        stopped.removeEventListener('abort', end)
        listeners.delete(end)
        if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
        resolve()
      }
      const timer = setTimeout(end, withinMs)
      stopped.addEventListener('abort', end)
      listeners.add(end)
    })
  }
}
