import type { BatchState } from '../../../values/batch-state.ts'

export interface BatchesTable {
  id: string
  /** The team of the chips, tokens, or events that it changes. */
  teamId: number
  /** The command: `chips apply`. */
  kind: string
  /** Given by whoever began it; unique in the team. */
  name: string | null
  state: BatchState
  /** The actor's name in the audit log. */
  startedBy: string
  /** Which credential began it, since names may be given again. */
  startedById: string
  /** JSON: the scopes that its rows run by. */
  scopes: string
  approvedBy: string | null
  note: string | null
  /** When it is to start, and when it is to be undone. ISO 8601 in UTC. */
  at: string | null
  until: string | null
  /** 1: it needs the approval of another person. */
  isProposed: number
  /** The machine and the context of the CLI that uploaded it. */
  host: string | null
  context: string | null
  /** JSON: what holds for all its rows. */
  settings: string
  /** Rows in a thousand seconds; null: as fast as it goes. */
  rate: number | null
  /** SHA-256 of its rows as they were sent: the same name with other rows is refused. */
  rowsHash: string
  /** The batch that this one takes back. */
  undoes: string | null
  /** Rows announced, and rows that are here. */
  total: number
  uploaded: number
  /** JSON: counts by status and what a question repeats; null: not planned. */
  plan: string | null
  /** How often its rows were begun: 1, and one more for each retry of its failed rows. */
  pass: number
  /**
   * The piece and the row within it, from 0, that come next in this pass. While rows arrive, the piece that comes next;
   * before the start, `nextRow` counts the plans. A write that goes on from here fences others off.
   */
  nextPiece: number
  nextRow: number
  /** Rows with a result, by what that says. Together they are `done`. */
  changed: number
  unchanged: number
  failed: number
  conflict: number
  /** Why it waits, was paused, or failed. */
  error: string | null
  /** Seconds that it started after its time. */
  lateSeconds: number | null
  /** The head of the audit log at its end. */
  auditHead: string | null
  /** Bytes kept for it. */
  stored: number
  createdAt: string
  startedAt: string | null
  endedAt: string | null
  /** Time of the last heartbeat. */
  touchedAt: string
}

/** Rows of a batch with what is known of them. Each text is JSON lines, deflated and sealed with the data key. */
export interface BatchPiecesTable {
  batchId: string
  /** From 0. */
  piece: number
  count: number
  rows: Uint8Array
  /** What the rows would have done when they were planned. */
  plan: Uint8Array | null
  /** The last result of each row that has one. */
  results: Uint8Array | null
}

/** What rows refer to: images. */
export interface BatchFilesTable {
  batchId: string
  /** SHA-256, in hex. */
  hash: string
  type: string
  /** Sealed. */
  data: Uint8Array
}
