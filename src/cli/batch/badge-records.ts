import { isNumber, isRecord, isText } from './record-parts.ts'

/** A row of a batch of badge events: its cells by their columns. An image is its absolute path. */
export interface BadgeRow {
  readonly row: number
  readonly cells: Readonly<Record<string, string>>
}

/** A row's end. */
export interface BadgeOutcome {
  readonly row: number
  readonly status: 'created' | 'assigned' | 'failed'
  /** Of the event that was created. */
  readonly id?: number
  readonly error?: string
}

export type BadgeLine =
  | ({ readonly type: 'badge' } & BadgeRow)
  | ({ readonly type: 'badge-outcome' } & BadgeOutcome)

const statuses: readonly BadgeOutcome['status'][] = ['created', 'assigned', 'failed']

export const badgeLineFrom = (line: Readonly<Record<string, unknown>>): BadgeLine | undefined => {
  const { type, row, cells, id, error } = line
  if (!isNumber(row)) return undefined
  if (type === 'badge' && isRecord(cells)) {
    const texts = Object.entries(cells).flatMap(([name, value]) => (isText(value) ? [[name, value]] : []))
    return { type, row, cells: Object.fromEntries(texts) }
  }
  const status = statuses.find((known) => known === line.status)
  if (type !== 'badge-outcome' || status === undefined) return undefined
  return { type, row, status, ...(isNumber(id) ? { id } : {}), ...(isText(error) ? { error } : {}) }
}
