import type { Db } from '../../store/database.ts'
import type { TransactionRow } from '../../store/schema.ts'
import { findTransaction } from '../../store/transactions.ts'

type Listener = (row: TransactionRow) => boolean

/** Tells those who wait for a transaction that it has changed. The store is the truth; this only says when to look. */
export class Notices {
  readonly #db: Db
  readonly #listeners = new Map<number, Set<Listener>>()
  constructor(db: Db) {
    this.#db = db
  }

  /** @param listener called with the row at each change, until it returns true */
  async listen(id: number, listener: Listener): Promise<() => void> {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    await this.changed([id])
    return () => this.#leave(id, listener)
  }

  /** After the write was committed. */
  async changed(ids: Iterable<number>): Promise<void> {
    for (const id of ids) {
      const listeners = this.#listeners.get(id)
      if (!listeners) continue
      const row = await findTransaction(this.#db.read, id)
      if (!row) continue
      for (const listener of [...listeners]) if (listener(row)) this.#leave(id, listener)
    }
  }

  #leave(id: number, listener: Listener): void {
    const listeners = this.#listeners.get(id)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(id)
  }
}
