/** A batch of the CLI. Its journal is in `batchChunks`. */
export interface BatchJournalsTable {
  id: string
  /** null: an operator's, begun with an admin token. */
  teamId: number | null
  kind: string
  state: 'running' | 'stopped' | 'done'
  host: string
  /** Which journal it is run from, of all on all machines. */
  place: string
  /** The name of the CLI's context. */
  context: string | null
  startedAt: string
  /** As in the audit log. */
  startedBy: string
  heardAt: string
  /** SHA-256 of the secret of the process that runs it. */
  holder: string
  /** How often somebody has begun to run it: a fencing number. */
  lease: number
  done: number
  failed: number
  total: number
  /** Bytes of the journal. */
  length: number
  /** Bytes that the daemon keeps for it. */
  stored: number
}

export interface BatchChunksTable {
  batchId: string
  /** Where it stands in the journal, in bytes. */
  offset: number
  bytes: number
  /** Deflated by the CLI, and sealed: the journal of an import may hold the keys of chips. */
  data: Uint8Array
}
