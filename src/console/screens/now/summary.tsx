import { useMemo } from 'preact/hooks'
import type { AnswerOf } from '../../api.ts'
import { tapsOfLastMinute } from '../../live.ts'
import { Figure } from '../../parts/panel.tsx'
import { Plot } from '../../parts/plot.tsx'
import { useNow } from '../../parts/time.tsx'
import type { LiveTap } from '../../requests.ts'
import { formatNumber, formatShort, locale } from '../../words/language.ts'
import { countMinutes } from './minutes.ts'
import { words } from './words.ts'

const minutesShown = 60
const percent = new Intl.NumberFormat(locale, { style: 'percent' })

const sumOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0)

/** The larger of two counts of the same minutes: the daemon's has them all, the page's is newer. */
const larger = (at: readonly number[], own: readonly number[], counted: ReadonlyMap<number, number>) =>
  own.map((count, index) => Math.max(count, counted.get(at[index] ?? 0) ?? 0))

interface SummaryProps {
  readonly taps: readonly LiveTap[]
  readonly team: string
  readonly pulse: AnswerOf<'GET /admin/taps/pulse'> | undefined
  /** Of each plot, in pixels. */
  readonly height: number
}

export function Summary({ taps, team, pulse, height }: SummaryProps) {
  const now = useNow(1000)
  const minutes = useMemo(() => {
    const own = countMinutes(taps, now, minutesShown)
    const by = (read: (row: { taps: number; valid: number }) => number) =>
      new Map(pulse?.minutes.map((row) => [Date.parse(row.at) / 1000, read(row)]))
    return {
      at: own.at,
      valid: larger(
        own.at,
        own.valid,
        by(({ valid }) => valid),
      ),
      refused: larger(
        own.at,
        own.refused,
        by(({ taps, valid }) => taps - valid),
      ),
    }
  }, [taps, pulse, now])
  const hours = pulse?.hours ?? []
  const valid = hours.map((hour) => hour.valid)
  const refused = hours.map((hour) => hour.taps - hour.valid)
  const [all, bad] = [sumOf(valid) + sumOf(refused), sumOf(refused)]
  return (
    <div class="now-summary">
      <dl class="figures">
        <Figure label={words.lastMinute} value={formatShort(tapsOfLastMinute(team, now))} />
        <Figure
          label={words.today}
          value={pulse ? formatShort(all) : '…'}
          note={
            pulse?.isComplete === false
              ? words.counting
              : pulse && words.refusedShare(formatNumber(bad), percent.format(all === 0 ? 0 : bad / all))
          }
        />
      </dl>
      <Rates title={words.perMinute} height={height} {...minutes} />
      <Rates
        title={words.perHour}
        height={height}
        at={hours.map(({ at }) => Date.parse(at) / 1000)}
        valid={valid}
        refused={refused}
      />
    </div>
  )
}

interface RatesProps {
  readonly title: string
  readonly height: number
  readonly at: readonly number[]
  readonly valid: readonly number[]
  readonly refused: readonly number[]
}

function Rates({ title, height, at, valid, refused }: RatesProps) {
  const both = valid.map((count, index) => count + (refused[index] ?? 0))
  return (
    <Plot
      title={title}
      height={height}
      at={at}
      series={[
        { label: words.valid, values: valid, color: '--good-fill' },
        { label: words.refused, values: refused, color: '--bad-fill' },
      ]}
      summary={words.plotSummary(formatNumber(sumOf(both)), formatNumber(Math.max(0, ...both)))}
    />
  )
}
