import type { BatchStatus, Brief } from '../../batch/history.ts'
import { argument } from '../../command/options.ts'

export const batchArgument = { id: argument('id', 'The id of the batch', 'batch') }

interface Summary {
  readonly id: string
  readonly kind: string
  readonly status: BatchStatus
  readonly startedAt: string
  readonly endedAt: string | null
  readonly total: number
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
  readonly input: string
  readonly url: string
  readonly undoes: string | null
}

/** A batch as `batch list` and `batch status` show it. */
export const summaryOf = ({ header, status, endedAt, counts }: Brief): Summary => ({
  id: header.id,
  kind: header.kind,
  status,
  startedAt: header.startedAt,
  endedAt: endedAt ?? null,
  total: header.total,
  changed: counts.changed,
  unchanged: counts.unchanged,
  failed: counts.failed,
  input: header.input.path ?? header.input.name,
  url: header.url,
  undoes: header.undoes ?? null,
})
