import { useMemo, useState } from 'preact/hooks'
import { uidToHex } from '../../../nfc/uid.ts'
import { useChipNames } from '../../chip-names.ts'
import { type SeenTap, useLive } from '../../live.ts'
import { Figure, Panel, Ranking } from '../../parts/panel.tsx'
import { Plot } from '../../parts/plot.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Time, useNow } from '../../parts/time.tsx'
import { Link, usePlace, useTeam } from '../../router.tsx'
import { currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { useSampled } from '../../use-sampled.ts'
import { formatNumber, formatShort, locale } from '../../words/language.ts'
import { shell } from '../../words/shell.ts'
import { LiveTaps } from './live-taps.tsx'
import { countMinutes } from './minutes.ts'
import { suspicions } from './suspicion.ts'
import { words } from './words.ts'

const hourMs = 3_600_000
const minutesShown = 30
const statsEveryMs = 15_000
const sampleMs = 1000

export function NowScreen() {
  const { taps } = useLive()
  const { query } = usePlace()
  const isWall = query.has('wall')
  const team = useTeam()
  const ofTeam = useMemo(
    () => (team === '' ? taps : taps.filter((tap) => tap.team === team || tap.team === null)),
    [taps, team],
  )
  const sampled = useSampled(ofTeam, sampleMs)
  // The same elements are not drawn again with each tap.
  const summary = useMemo(() => <Summary taps={sampled} height={isWall ? 240 : 160} />, [sampled, isWall])
  const aside = useMemo(
    () => (
      <aside class="now-aside">
        <Suspicious taps={sampled} />
        <Opened taps={sampled} />
        <Top by="group" />
        <Top by="item" />
      </aside>
    ),
    [sampled],
  )
  return (
    <div class="now" data-wall={isWall ? '' : undefined}>
      <h1 class={isWall ? 'now-title' : 'for-readers'}>{shell.screens.now}</h1>
      {summary}
      <LiveTaps
        taps={ofTeam}
        isWall={isWall}
        withTeam={!isWall && team === '' && currentSession().who?.team === null}
      />
      {aside}
    </div>
  )
}

function Summary({ taps, height }: { readonly taps: readonly SeenTap[]; readonly height: number }) {
  const now = useNow(1000)
  const team = useTeam() || undefined
  const { data } = useRead(
    'GET /admin/taps/stats',
    { query: { by: 'hour', team } },
    { everyMs: statsEveryMs },
  )
  const minutes = useMemo(() => countMinutes(taps, now, minutesShown), [taps, now])
  const lastMinute = taps.filter(({ at }) => Date.parse(at) > now - 60_000).length
  const rows = data?.rows ?? []
  const valid = rows.map((row) => row.valid ?? 0)
  const refused = rows.map((row) => row.refused ?? 0)
  const sumOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0)
  const [all, bad] = [sumOf(valid) + sumOf(refused), sumOf(refused)]
  const share = new Intl.NumberFormat(locale, { style: 'percent' }).format(all === 0 ? 0 : bad / all)
  const summary = (values: readonly number[]) =>
    words.plotSummary(formatNumber(sumOf(values)), formatNumber(Math.max(0, ...values)))
  const both = (a: readonly number[], b: readonly number[]) => a.map((one, index) => one + (b[index] ?? 0))
  const series = (good: readonly number[], bad: readonly number[]) => [
    { label: words.valid, values: good, color: '--good-fill' },
    { label: words.refused, values: bad, color: '--bad-fill' },
  ]
  return (
    <div class="now-summary">
      <dl class="figures">
        <Figure label={words.lastMinute} value={formatShort(lastMinute)} />
        <Figure
          label={words.today}
          value={data ? formatShort(all) : '…'}
          note={data ? words.refusedShare(formatNumber(bad), share) : undefined}
        />
      </dl>
      <Plot
        height={height}
        title={words.perMinute}
        at={minutes.at}
        series={series(minutes.valid, minutes.refused)}
        summary={summary(both(minutes.valid, minutes.refused))}
      />
      <Plot
        height={height}
        title={words.perHour}
        at={rows.map(({ from }) => Date.parse(from ?? '') / 1000)}
        series={series(valid, refused)}
        summary={summary(both(valid, refused))}
      />
    </div>
  )
}

function Top({ by }: { readonly by: 'group' | 'item' }) {
  const team = useTeam() || undefined
  const [since] = useState(() => new Date(Date.now() - 24 * hourMs).toISOString())
  const { data } = useRead(
    'GET /admin/taps/stats',
    { query: { by, team, since, limit: 6 } },
    { everyMs: statsEveryMs },
  )
  if (data === undefined || data.rows.length === 0) return null
  const nameOf = (row: (typeof data.rows)[number]) =>
    by === 'group' ? (row.chipGroup ?? words.withoutGroup) : (row.item ?? words.withoutItem)
  return (
    <Panel
      title={by === 'group' ? words.groups : words.items}
      aside={<span class="quiet">{words.lastDay}</span>}
    >
      <Ranking
        rows={data.rows.map((row) => ({
          key: `${row.team} ${nameOf(row)}`,
          label: nameOf(row),
          value: row.taps,
          shown: formatNumber(row.taps),
        }))}
      />
    </Panel>
  )
}

function ChipLink({ uid }: { readonly uid: string | null }) {
  const nameOf = useChipNames(uid === null ? [] : [uid])
  if (uid === null) return null
  return <Link to={`/chips/${uidToHex(uid)}`}>{nameOf(uid)?.label ?? uidToHex(uid)}</Link>
}

function Suspicious({ taps }: { readonly taps: readonly SeenTap[] }) {
  const now = useNow(10_000)
  const found = useMemo(() => suspicions(taps, now - hourMs).slice(0, 6), [taps, now])
  return (
    <Panel title={words.suspicious}>
      {found.length === 0 ? (
        <p class="quiet panel-text">{words.noneSuspicious}</p>
      ) : (
        <ul class="list">
          {found.map(({ outcome, uid, count, latest }) => {
            const say = outcome in words.why ? Reflect.get(words.why, outcome) : words.why.other
            return (
              <li key={`${outcome} ${uid}`}>
                <StateBadge tone="bad">{say(formatNumber(count))}</StateBadge>
                <span class="quiet">
                  <ChipLink uid={uid} /> <Time at={latest} as="clock" />
                </span>
              </li>
            )
          })}
        </ul>
      )}
    </Panel>
  )
}

function Opened({ taps }: { readonly taps: readonly SeenTap[] }) {
  const seen = new Set<string>()
  const opened = taps.filter(({ tamper, uid, outcome }) => {
    if (tamper !== 'open' || outcome !== 'valid' || uid === null || seen.has(uid)) return false
    seen.add(uid)
    return true
  })
  return (
    <Panel title={words.opened}>
      {opened.length === 0 ? (
        <p class="quiet panel-text">{words.noneOpened}</p>
      ) : (
        <ul class="list">
          {opened.slice(0, 6).map(({ seq, uid, at }) => (
            <li key={seq}>
              <ChipLink uid={uid} />
              <span class="quiet">
                <Time at={at} as="clock" />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
