import type { AnswerOf, ElementOf } from '../../api.ts'
import { Empty } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge, type Tone } from '../../parts/state-badge.tsx'
import { formatDay } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { formatNumber } from '../../words/language.ts'
import { words } from './words.ts'

type BadgeEvent = ElementOf<'GET /admin/badge-events'>
type Guestbook = ElementOf<'GET /admin/guestbooks'>
type Rates = AnswerOf<'GET /admin/events/rates'>
type Rate = Rates['badgeEvents'][number]

interface ListProps<T> {
  readonly events: readonly T[]
  readonly rates: Rates | undefined
  readonly withTeam: boolean
}

const maxHeight = 440

const tones: Readonly<Record<BadgeEvent['status'], Tone>> = {
  'pending-approval': 'warn',
  future: 'info',
  active: 'good',
  expired: 'quiet',
  rejected: 'bad',
}

export function BadgeEvents({ events, rates, withTeam }: ListProps<BadgeEvent>) {
  const rateOf = new Map(rates?.badgeEvents.map((rate) => [rate.id, rate]))
  const columns: readonly Column<BadgeEvent>[] = [
    { key: 'event', title: words.event, width: 3, cell: ({ name }) => name },
    ...(withTeam ? [teamColumn] : []),
    {
      key: 'status',
      title: words.status,
      width: '216px',
      from: 520,
      cell: ({ status, provider }) => (
        <>
          <StateBadge tone={tones[status]}>{words.states[status]}</StateBadge>{' '}
          <span class="quiet">{words.providers[provider]}</span>
        </>
      ),
    },
    { key: 'left', title: words.codesLeft, width: '128px', cell: (event) => <CodesLeft event={event} /> },
    ...rateColumns<BadgeEvent>(rateOf, 400),
    {
      key: 'dates',
      title: words.dates,
      width: '216px',
      from: 1100,
      align: 'end',
      cell: ({ startDate, endDate }) => (
        <span class="quiet">
          {formatDay(startDate)} – {formatDay(endDate)}
        </span>
      ),
    },
  ]
  return (
    <Panel title={words.badges} aside={<span class="quiet">{formatNumber(events.length)}</span>}>
      {events.length === 0 ? (
        <Empty title={words.noBadges} />
      ) : (
        <VirtualTable
          label={words.badges}
          rows={events}
          columns={columns}
          rowKey={({ id }) => id}
          maxHeight={maxHeight}
        />
      )}
    </Panel>
  )
}

/** Below this share, somebody should order more. */
const lowShare = 0.1

function CodesLeft({ event }: { readonly event: BadgeEvent }) {
  const { remainingCodesCount: left, requestedCodes: all, status } = event
  const share = all === 0 ? 0 : Math.min(1, left / all)
  const tone = status !== 'active' ? 'quiet' : left === 0 ? 'bad' : share < lowShare ? 'warn' : 'good'
  return (
    <span class="meter" data-tone={tone}>
      <span>{words.left(formatNumber(left), formatNumber(all))}</span>
      <span class="meter-line" aria-hidden="true">
        <span style={{ width: `${100 * share}%` }} />
      </span>
    </span>
  )
}

export function Guestbooks({ events, rates, withTeam }: ListProps<Guestbook>) {
  const rateOf = new Map(rates?.guestbooks.map((rate) => [rate.id, rate]))
  const columns: readonly Column<Guestbook>[] = [
    { key: 'event', title: words.event, width: 3, cell: ({ name }) => name },
    ...(withTeam ? [teamColumn] : []),
    {
      key: 'contract',
      title: words.contract,
      width: 2,
      from: 760,
      cell: ({ contractName, chainId }) => (
        <>
          {contractName} <span class="quiet">· {chainId}</span>
        </>
      ),
    },
    {
      key: 'status',
      title: words.status,
      width: '216px',
      from: 520,
      cell: ({ status, problem }) =>
        problem === null ? (
          <StateBadge tone={status === 'confirmed' ? 'good' : 'info'}>
            {words.contractStates[status]}
          </StateBadge>
        ) : (
          <span title={problem}>
            <StateBadge tone="bad">{problem}</StateBadge>
          </span>
        ),
    },
    ...rateColumns<Guestbook>(rateOf, 0),
  ]
  return (
    <Panel title={words.guestbooks} aside={<span class="quiet">{formatNumber(events.length)}</span>}>
      {events.length === 0 ? (
        <Empty title={words.noGuestbooks} />
      ) : (
        <VirtualTable
          label={words.guestbooks}
          rows={events}
          columns={columns}
          rowKey={({ id }) => id}
          maxHeight={maxHeight}
        />
      )}
    </Panel>
  )
}

const teamColumn = {
  key: 'team',
  title: words.team,
  width: 1,
  from: 900,
  cell: ({ team }: { readonly team: string }) => team,
} as const

const rateColumns = <T extends { readonly id: number }>(
  rateOf: ReadonlyMap<number, Rate>,
  hourFrom: number,
): readonly Column<T>[] => [
  {
    key: 'hour',
    title: words.lastHour,
    width: '104px',
    from: hourFrom,
    align: 'end',
    cell: ({ id }) => <Count value={rateOf.get(id)?.lastHour ?? 0} />,
  },
  {
    key: 'day',
    title: words.lastDay,
    width: '96px',
    from: 460,
    align: 'end',
    cell: ({ id }) => <Count value={rateOf.get(id)?.byHour.reduce((all, one) => all + one, 0) ?? 0} />,
  },
]

const Count = ({ value }: { readonly value: number }) =>
  value === 0 ? <span class="quiet">–</span> : formatNumber(value)
