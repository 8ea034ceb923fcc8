import { useEffect, useState } from 'preact/hooks'
import { counted, formatNumber } from '../../words/language.ts'
import type { Batch } from './kinds.ts'
import { words } from './words.ts'

type Counted = Pick<
  Batch,
  'id' | 'state' | 'total' | 'done' | 'changed' | 'unchanged' | 'failed' | 'conflict'
>

interface Sample {
  readonly at: number
  readonly done: number
}

// Rates are of the last half minute. Kept between screens, so that the next one need not begin to measure.
const keptMs = 30_000
/** Rows are written in lots. */
const measuredMs = 2500
const maxBatches = 200
const samples = new Map<string, readonly Sample[]>()

function observe({ id, state, done }: Counted, at: number): readonly Sample[] {
  if (state !== 'running') {
    samples.delete(id)
    return []
  }
  const known = samples.get(id) ?? []
  // A batch whose failed rows are tried again begins anew.
  const before = known.at(-1)?.done ?? 0
  const kept = done < before ? [] : known.filter((sample) => at - sample.at <= keptMs)
  const all = [...kept, { at, done }]
  samples.delete(id)
  samples.set(id, all)
  const [oldest] = samples.keys()
  if (samples.size > maxBatches && oldest !== undefined) samples.delete(oldest)
  return all
}

/** Rows a second; undefined until it is known. */
function rateOf(seen: readonly Sample[]): number | undefined {
  const [first] = seen
  const last = seen.at(-1)
  if (!first || !last || last.at - first.at < measuredMs) return undefined
  return (1000 * (last.done - first.done)) / (last.at - first.at)
}

export function formatLeft(seconds: number): string {
  const { left } = words
  if (seconds < 60) return left.seconds(formatNumber(Math.max(1, Math.round(seconds))))
  if (seconds < 3600) return left.minutes(formatNumber(Math.round(seconds / 60)))
  const minutes = Math.round(seconds / 60)
  return left.hours(formatNumber(Math.floor(minutes / 60)), formatNumber(minutes % 60))
}

const formatRate = (rate: number): string =>
  words.rate(formatNumber(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)))

/** Rows done, rows a second, and the time left. */
export function Progress({ batch }: { readonly batch: Counted }) {
  const [rate, setRate] = useState<number>()
  const { done, total, state } = batch
  // Each answer of the daemon is another object.
  useEffect(() => setRate(rateOf(observe(batch, Date.now()))), [batch])
  const parts = [
    { tone: 'good', count: batch.changed, name: words.counts.changed },
    { tone: 'quiet', count: batch.unchanged, name: words.counts.unchanged },
    { tone: 'warn', count: batch.conflict, name: words.counts.conflict },
    { tone: 'bad', count: batch.failed, name: words.counts.failed },
  ] as const
  const of = words.doneOf(formatNumber(done), counted(total, words.row, words.rows))
  return (
    <div class="progress">
      <div
        class="progress-bar"
        role="progressbar"
        aria-label={words.progress}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
        aria-valuetext={of}
      >
        {parts.map(({ tone, count }) => (
          <span
            key={tone}
            data-tone={tone}
            style={{ width: `${total === 0 ? 0 : (100 * count) / total}%` }}
          />
        ))}
      </div>
      <p class="progress-line">
        <span>{of}</span>
        {rate !== undefined && state === 'running' ? (
          <span class="quiet">
            {formatRate(rate)}
            {rate > 0 && done < total ? ` · ${formatLeft((total - done) / rate)}` : ''}
          </span>
        ) : null}
      </p>
      {done === 0 ? null : (
        <ul class="progress-counts">
          {parts.flatMap(({ tone, count, name }) =>
            count === 0 ? (
              []
            ) : (
              <li key={tone}>
                <span class="swatch" data-tone={tone} aria-hidden="true" />
                {formatNumber(count)} {name}
              </li>
            ),
          )}
        </ul>
      )}
    </div>
  )
}
