import { useMemo } from 'preact/hooks'
import type { AnswerOf } from '../../api.ts'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { Figure } from '../../parts/panel.tsx'
import { Plot } from '../../parts/plot.tsx'
import { useTeam } from '../../router.tsx'
import { askEveryMs, currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { formatNumber, formatShort } from '../../words/language.ts'
import { shell } from '../../words/shell.ts'
import { BadgeEvents, Guestbooks } from './lists.tsx'
import { words } from './words.ts'

type Rates = AnswerOf<'GET /admin/events/rates'>

const listed = 1000

const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0)

export function EventsScreen() {
  const team = useTeam() || undefined
  const withTeam = team === undefined && currentSession().who?.team === null
  const badges = useRead(
    'GET /admin/badge-events',
    { query: { team, limit: listed } },
    { on: ['badges'], everyMs: askEveryMs() },
  )
  const guestbooks = useRead(
    'GET /admin/guestbooks',
    { query: { team, limit: listed } },
    { on: ['guestbooks', 'transactions'], everyMs: askEveryMs() },
  )
  const rates = useRead(
    'GET /admin/events/rates',
    { query: { team } },
    { on: ['badges', 'transactions'], restMs: 10_000, everyMs: askEveryMs() },
  )
  const problem = badges.problem ?? guestbooks.problem ?? rates.problem
  const isKnown = badges.data !== undefined && guestbooks.data !== undefined
  const reload = () => {
    badges.reload()
    guestbooks.reload()
    rates.reload()
  }
  const left = sum(
    badges.data?.map(({ status, remainingCodesCount }) => (status === 'active' ? remainingCodesCount : 0)) ??
      [],
  )
  return (
    <div class="screen">
      <h1>{shell.screens.events}</h1>
      {!isKnown ? (
        problem ? (
          <Problem problem={problem} onRetry={reload} />
        ) : (
          <Loading />
        )
      ) : badges.data.length + guestbooks.data.length === 0 ? (
        <Empty title={words.none}>
          <code>tapchip badge-events create</code> · <code>tapchip guestbook create</code>
        </Empty>
      ) : (
        <>
          <Summary rates={rates.data} left={left} />
          <BadgeEvents events={badges.data} rates={rates.data} withTeam={withTeam} />
          <Guestbooks events={guestbooks.data} rates={rates.data} withTeam={withTeam} />
        </>
      )}
    </div>
  )
}

function Summary({ rates, left }: { readonly rates: Rates | undefined; readonly left: number }) {
  const byHour = useMemo(() => {
    const of = (kind: 'badgeEvents' | 'guestbooks') =>
      rates?.hours.map((_, at) => sum(rates[kind].map(({ byHour }) => byHour[at] ?? 0))) ?? []
    return { claims: of('badgeEvents'), mints: of('guestbooks') }
  }, [rates])
  const lastHour = (kind: 'badgeEvents' | 'guestbooks') =>
    rates ? formatShort(sum(rates[kind].map(({ lastHour }) => lastHour))) : '…'
  return (
    <div class="summary">
      <dl class="figures summary-figures">
        <Figure label={words.codesLeft} value={formatShort(left)} />
        <Figure label={words.claimedLastHour} value={lastHour('badgeEvents')} />
        <Figure label={words.mintedLastHour} value={lastHour('guestbooks')} />
      </dl>
      <div class="summary-plot">
        <Plot
          title={words.perHour}
          at={rates?.hours.map((hour) => Date.parse(hour) / 1000) ?? []}
          series={[
            { label: words.claims, values: byHour.claims, color: '--accent' },
            { label: words.mints, values: byHour.mints, color: '--good-fill' },
          ]}
          summary={words.plotSummary(formatNumber(sum(byHour.claims)), formatNumber(sum(byHour.mints)))}
        />
        {rates?.isComplete === false ? <p class="quiet">{words.notAll}</p> : null}
      </div>
    </div>
  )
}
