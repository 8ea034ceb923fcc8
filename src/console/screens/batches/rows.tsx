import { uidToHex } from '../../../nfc/uid.ts'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { StateBadge, type Tone } from '../../parts/state-badge.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { formatNumber } from '../../words/language.ts'
import { changesIn, type Result, shownValue, subjectOf } from './changes.ts'
import { columnWords } from './column-words.ts'
import type { Batch } from './kinds.ts'
import { type BatchRow, useRows } from './use-rows.ts'
import { words } from './words.ts'

interface RowsProps {
  readonly batch: Batch
  readonly onlyFailed: boolean
}

/** The plan and the results, row by row, old and new. */
export function BatchRows({ batch, onlyFailed }: RowsProps) {
  const { id, state, done, total, failed, conflict, uploaded } = batch
  const version = `${state} ${onlyFailed ? failed + conflict : done} ${uploaded}`
  const { rows, next, problem, more, retry, onView } = useRows(id, onlyFailed, version)
  if (problem) return <Problem problem={problem} onRetry={retry} />
  if (rows.length === 0 && next !== null) return <Loading />
  if (rows.length === 0)
    return onlyFailed ? (
      <Empty title={words.noneFailed}>{words.noneFailedWhy}</Empty>
    ) : (
      <Empty title={words.noRows}>{words.noRowsWhy}</Empty>
    )
  return (
    <VirtualTable
      label={words.rowsOf}
      rows={rows}
      columns={columns}
      rowKey={({ row }) => row}
      rowTo={(row) => {
        const { uid } = subjectOf(latestOf(row))
        return uid === undefined ? undefined : `/chips/${hexOf(uid)}`
      }}
      rowHeight={onlyFailed ? 76 : 56}
      onEnd={more}
      onView={onView}
      total={onlyFailed ? undefined : total}
    />
  )
}

/** In answers of some kinds it is decimal. */
const hexOf = (uid: string): string => (/^[1-9]\d*$/.test(uid) && uid.length !== 14 ? uidToHex(uid) : uid)

/** The newest of each; a result may leave out what the plan said. */
function latestOf({ row, plan, result }: BatchRow): Result {
  const last = result ?? plan
  return { ...plan, ...result, row, status: last?.status, error: last?.error }
}

function Subject({ row }: { readonly row: BatchRow }) {
  const { text, uid } = subjectOf(latestOf(row))
  return (
    <span class="batch-subject">
      {uid === undefined ? null : <code>{hexOf(uid)}</code>} {text}
      {uid === undefined && text === '' ? `${words.rowNumber} ${formatNumber(row.row)}` : null}
    </span>
  )
}

function Changes({ row }: { readonly row: BatchRow }) {
  const latest = latestOf(row)
  const changes = changesIn(latest)
  return (
    <span class="batch-changes">
      {changes.length === 0 ? null : (
        <span class="batch-change" title={changes.map(asText).join('\n')}>
          {changes.map(({ name, from, to }, at) => (
            <span key={name}>
              {at > 0 ? ' · ' : ''}
              <span class="quiet">{columnWords[name] ?? name} </span>
              {from === undefined ? null : (
                <>
                  <del>{shownValue(from)}</del> <span aria-hidden="true">→</span>{' '}
                </>
              )}
              <ins>{shownValue(to)}</ins>
            </span>
          ))}
        </span>
      )}
      {latest.error === undefined ? null : (
        <span class="batch-error" title={latest.error}>
          {latest.error}
        </span>
      )}
      {changes.length === 0 && latest.error === undefined ? <span class="quiet">–</span> : null}
    </span>
  )
}

const asText = ({ name, from, to }: { name: string; from: unknown; to: unknown }): string =>
  `${columnWords[name] ?? name}: ${from === undefined ? '' : `${shownValue(from)} → `}${shownValue(to)}`

const tones: Readonly<Record<string, Tone>> = { failed: 'bad', conflict: 'warn', unchanged: 'quiet' }

function Status({ row: { plan, result } }: { readonly row: BatchRow }) {
  const status = result?.status
  const planned = plan?.status
  if (status === undefined) {
    if (planned === 'failed' || planned === 'conflict')
      return <StateBadge tone={tones[planned] ?? 'quiet'}>{words.wouldFail}</StateBadge>
    return <StateBadge tone="quiet">{words.pending}</StateBadge>
  }
  return <StateBadge tone={tones[status] ?? 'good'}>{words.statuses[status] ?? status}</StateBadge>
}

/** Old and new have a column of their own. */
const wide = 620

const columns: readonly Column<BatchRow>[] = [
  { key: 'subject', title: words.what, from: wide, cell: (row) => <Subject row={row} /> },
  {
    key: 'both',
    title: words.what,
    below: wide,
    cell: (row) => (
      <span class="batch-both">
        <Subject row={row} />
        <Changes row={row} />
      </span>
    ),
  },
  {
    key: 'changes',
    title: `${words.old} → ${words.new}`,
    width: 3,
    from: wide,
    cell: (row) => <Changes row={row} />,
  },
  { key: 'status', title: words.result, width: '136px', cell: (row) => <Status row={row} /> },
  {
    key: 'row',
    title: words.rowNumber,
    width: '72px',
    from: 760,
    align: 'end',
    cell: ({ row }) => <span class="quiet">{formatNumber(row)}</span>,
  },
]
