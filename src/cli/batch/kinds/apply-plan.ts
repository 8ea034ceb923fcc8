import { formatNumber } from '../../io/text.ts'
import { type ApplyPlan, type ApplyResult, type ApplyRow, describeApplied } from './apply-row.ts'

// Nobody reads more; --json has every row.
const shownRows = 20

interface PlanCounts {
  created: number
  changed: number
  removed: number
  unchanged: number
  conflict: number
  failed: number
  /** Of those changed. */
  moved: number
  unlinked: number
  disabled: number
}

export const countPlan = (results: Iterable<Pick<ApplyResult, 'status' | 'changes'>>): PlanCounts => {
  const counts = { created: 0, changed: 0, removed: 0, unchanged: 0, conflict: 0, failed: 0 }
  const of = { moved: 0, unlinked: 0, disabled: 0 }
  for (const { status, changes } of results) {
    if (status in counts) counts[status as keyof typeof counts] += 1
    if (status !== 'changed' || changes === undefined) continue
    const { chipGroup, tokenId, item, disabled } = changes
    if (chipGroup) of.moved += 1
    if (tokenId?.to === null || item?.to === null) of.unlinked += 1
    if (disabled?.to === true) of.disabled += 1
  }
  return { ...counts, ...of }
}

const some = (words: readonly (readonly [number, string])[]): string =>
  words
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${formatNumber(count)} ${what}`)
    .join(', ')

export const planTotals = (counts: PlanCounts): string => {
  const { created, changed, removed, moved, unlinked, disabled, unchanged, conflict, failed } = counts
  const within = some([
    [moved, 'to another chip group'],
    [unlinked, 'unlinked'],
    [disabled, 'disabled'],
  ])
  const parts = [
    `${formatNumber(created)} to create`,
    `${formatNumber(changed)} to change${within === '' ? '' : ` (${within})`}`,
    ...(removed > 0 ? [`${formatNumber(removed)} to remove`] : []),
    `${formatNumber(unchanged)} unchanged`,
    `${formatNumber(conflict)} in conflict`,
    `${formatNumber(failed)} would fail`,
  ]
  return `Plan: ${parts.join(', ')}.`
}

/** The first rows that are not unchanged. */
export function* planLines(rows: readonly ApplyRow[], plan: ApplyPlan): Generator<string> {
  let seen = 0
  for (const row of rows) {
    const result = plan.get(row.row)
    if (result === undefined || result.status === 'unchanged') continue
    seen += 1
    if (seen <= shownRows) yield describeApplied(result, row)
  }
  if (seen > shownRows)
    yield `… and ${formatNumber(seen - shownRows)} more; see all of them: --dry-run --json`
}
