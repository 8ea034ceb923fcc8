import { hash as digest } from 'node:crypto'
import type { JsonObject } from './json.ts'

/** Comes before the first entry. */
export const chainStart = '0'.repeat(64)

export interface ChainedEntry {
  id: number
  at: string
  actor: string
  teamId: number | null
  action: string
  target: string
  /** JSON, as text. */
  detail: string
  requestId: string | null
  batch: string | null
}

/**
 * Whether a restore, or a migration in an export of a version from before the first release, had to seal the log anew:
 * nothing proves what is older than its entry.
 */
export const beginsAnew = (action: unknown, detail: JsonObject | undefined): boolean =>
  (action === 'daemon.migrate' || action === 'daemon.restore') && detail?.beganAnew === true

const sha256 = (text: string): string => digest('sha256', text)

/**
 * SHA-256, in hex, of the JSON array [previous hash, id, at, actor, teamId, action, target, SHA-256 of the detail,
 * requestId, batch] in UTF-8, without spaces. Stored in databases and exports: never change it.
 */
export function hashOfEntry(previous: string, entry: Omit<ChainLink, 'hash'>): string {
  const { id, at, actor, teamId, action, target, detail, requestId, batch } = entry
  return sha256(
    JSON.stringify([previous, id, at, actor, teamId, action, target, sha256(detail), requestId, batch]),
  )
}

/** An entry as it was found, whatever it is now. */
export type ChainLink = Record<Exclude<keyof ChainedEntry, 'id' | 'detail'> | 'hash', unknown> &
  Pick<ChainedEntry, 'id' | 'detail'>

/** Follows a chain entry by entry, in the order of their IDs. */
export class ChainCheck {
  entries = 0
  lastId: number
  hash: string
  /** The first entry that was changed or is missing. */
  firstBad: number | undefined

  /** @param start the hash and ID before the first entry */
  constructor({ hash, id }: { hash: string; id: number } = { hash: chainStart, id: 0 }) {
    this.hash = hash
    this.lastId = id
  }

  /** @returns false from the first entry on that does not continue the chain */
  take(entry: ChainLink): boolean {
    if (this.firstBad !== undefined) return false
    const hash = hashOfEntry(this.hash, entry)
    if (hash !== entry.hash || entry.id <= this.lastId) {
      // After a missing entry the next one does not fit, although nobody changed it.
      this.firstBad = entry.id > this.lastId + 1 ? this.lastId + 1 : entry.id
      return false
    }
    this.entries += 1
    this.lastId = entry.id
    this.hash = hash
    return true
  }

  /** @param head the entries and the last hash that there must be */
  end(head: { entries: number; hash: string }): void {
    if (this.hash !== head.hash || this.entries !== head.entries) this.firstBad ??= this.lastId + 1
  }
}
