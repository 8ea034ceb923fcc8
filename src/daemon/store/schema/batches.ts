import type { BatchState } from '../../../values/batch.ts'

export interface BatchesTable {
  id: string
  /** The team of the chips, tokens, or events that it changes. */
  teamId: number
  /** The command: `chips apply`. */
  kind: string
  /** Chosen by whoever began it; unique in the team. */
  name: string | null
  state: BatchState
  /** The actor's name in the audit log. */
  startedBy: string
  /** Which credential began it, since names may be given again. */
  startedById: string
  /** JSON: the scopes with which its rows run. */
  scopes: string
  approvedBy: string | null
  note: string | null
  /** When it should start, and when it should be undone. ISO 8601 in UTC. */
  at: string | null
  until: string | null
  /** 1: it needs the approval of another person. */
  isProposed: number
  /** The machine and the context of the CLI that uploaded it. */
  host: string | null
  context: string | null
  /** JSON: settings for all its rows. */
  settings: string
  /** Rows in a thousand seconds; null: as fast as it goes. */
  rate: number | null
  /** SHA-256 of its rows as they were sent: the same name with other rows is refused. */
  rowsHash: string
  /** The batch that this one undoes. */
  undoes: string | null
  /** Rows announced, and rows uploaded. */
  total: number
  uploaded: number
  /** JSON: counts by status, and those for the confirmation question; null: not planned. */
  plan: string | null
  /** How often its rows were begun: 1, and one more for each retry of its failed rows. */
  pass: number
  /**
   * The next piece and its next row in this pass, from 0. During the upload, the next piece; before the start,
   * `nextRow` counts the plans. Only one write can continue from a position.
   */
  nextPiece: number
  nextRow: number
  /** Rows with a result, by status. Their sum is `done`. */
  changed: number
  unchanged: number
  failed: number
  conflict: number
  /** Why it waits, was paused, or failed. */
  error: string | null
  /** How many seconds late it started. */
  lateSeconds: number | null
  /** The head of the audit log at its end. */
  auditHead: string | null
  /** Stored bytes. */
  stored: number
  createdAt: string
  startedAt: string | null
  endedAt: string | null
  /** Time of the last heartbeat. */
  touchedAt: string
}

/**
 * Rows of a batch with their plans and results. Each text is JSON lines, deflated and encrypted with the data key.
 */
export interface BatchPiecesTable {
  batchId: string
  /** From 0. */
  piece: number
  count: number
  rows: Uint8Array
  /** The planned results of its rows. */
  plan: Uint8Array | null
  /** Each row's last result, if it has one. */
  results: Uint8Array | null
}

/** Images that rows refer to. */
export interface BatchFilesTable {
  batchId: string
  /** SHA-256, in hex. */
  hash: string
  type: string
  /** Sealed. */
  data: Uint8Array
}
