import type { ElementOf } from '../../api.ts'
import { Empty, WhenRead } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge, type Tone } from '../../parts/state-badge.tsx'
import { Time, useNow } from '../../parts/time.tsx'
import { Link, useTeam } from '../../router.tsx'
import { useRead } from '../../use-read.ts'
import { formatNumber } from '../../words/language.ts'
import { shell } from '../../words/shell.ts'
import { words } from './words.ts'

type Reader = ElementOf<'GET /admin/nfc/stations'>

/** Then its session has ended, or somebody took a break. */
const silentMs = 5 * 60_000

/** The board of `nfc provision`, of all machines. */
export function TableScreen() {
  const team = useTeam() || undefined
  const stations = useRead('GET /admin/nfc/stations', { query: { team } }, { on: ['nfc'] })
  return (
    <div class="tables">
      <h1>{shell.screens.table}</h1>
      <WhenRead
        of={stations}
        empty={
          <Empty title={words.none}>
            <p>{words.noneWhy}</p>
            <code>tapchip nfc provision --reader all</code>
          </Empty>
        }
      >
        {(readers) =>
          stationsOf(readers).map(({ station, readers: own }, at) => (
            <Station key={station} name={words.station(formatNumber(at + 1))} readers={own} />
          ))
        }
      </WhenRead>
    </div>
  )
}

/** In an order that stays as it is while they work. */
function stationsOf(readers: readonly Reader[]) {
  const stations = new Map<string, Reader[]>()
  for (const reader of readers)
    stations.set(reader.station, [...(stations.get(reader.station) ?? []), reader])
  return [...stations]
    .map(([station, of]) => ({
      station,
      readers: of.sort((a, b) => (a.reader ?? '').localeCompare(b.reader ?? '')),
    }))
    .sort((a, b) => a.station.localeCompare(b.station))
}

const sumOf = (readers: readonly Reader[], name: keyof Reader['counts']): number =>
  readers.reduce((sum, { counts }) => sum + counts[name], 0)

const countNames = ['provisioned', 'unchanged', 'factory', 'failed'] as const

function Station({ name, readers }: { readonly name: string; readonly readers: readonly Reader[] }) {
  const [first] = readers
  const about = [words.by(first?.by ?? ''), first?.team ?? words.noTeam, first?.chipGroup]
  const counts = countNames.flatMap((count) => {
    const sum = sumOf(readers, count)
    return sum === 0 && count !== 'failed' ? [] : [`${formatNumber(sum)} ${words.counts[count]}`]
  })
  return (
    <Panel title={name} aside={<span class="quiet">{counts.join(' · ')}</span>}>
      <p class="panel-text quiet">{about.filter(Boolean).join(' · ')}</p>
      <ul class="readers">
        {readers.map((reader, at) => (
          <li key={reader.reader ?? ''}>
            <ReaderCard reader={reader} name={reader.reader ?? words.reader(formatNumber(at + 1))} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const tones: Readonly<Record<keyof Reader['counts'], Tone>> = {
  provisioned: 'good',
  unchanged: 'quiet',
  factory: 'info',
  failed: 'bad',
}

function ReaderCard({ reader, name }: { readonly reader: Reader; readonly name: string }) {
  const { counts, last, uid } = reader
  return (
    <div class="reader" data-failed={last?.status === 'failed' && !reader.isBusy ? '' : undefined}>
      <div class="reader-head">
        <h3>{name}</h3>
        <Doing reader={reader} />
      </div>
      <p class="reader-count">
        <strong>{formatNumber(counts.provisioned + counts.unchanged + counts.factory)}</strong> {words.done}
        {counts.failed > 0 ? (
          <span class="reader-failed">
            {formatNumber(counts.failed)} {words.counts.failed}
          </span>
        ) : null}
      </p>
      {uid === null ? null : <ChipLink uid={uid} />}
      {last === null ? null : (
        <div class="reader-last">
          <p>
            <span class="quiet">{words.last}</span>{' '}
            <StateBadge tone={tones[last.status]}>{words.statuses[last.status]}</StateBadge>{' '}
            <Time at={last.at} as="ago" />
          </p>
          {last.uid === null ? null : <ChipLink uid={last.uid} />}
          {last.error === null ? null : <p class="problem-line">{last.error}</p>}
        </div>
      )}
    </div>
  )
}

const ChipLink = ({ uid }: { readonly uid: string }) => (
  <Link to={`/chips/${uid}`}>
    <code>{uid}</code>
  </Link>
)

function Doing({ reader: { isBusy, phase, purpose, seenAt } }: { readonly reader: Reader }) {
  const now = useNow(10_000)
  if (now - Date.parse(seenAt) > silentMs) return <StateBadge tone="quiet">{words.silent}</StateBadge>
  if (!isBusy) return <StateBadge tone="quiet">{words.waiting}</StateBadge>
  return (
    <StateBadge tone={phase === 'details' ? 'warn' : 'info'}>
      {phase === null || (purpose !== 'provision' && phase === 'set-up') ? words.busy : words.phases[phase]}
    </StateBadge>
  )
}
