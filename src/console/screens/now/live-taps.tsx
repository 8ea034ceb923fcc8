import { useRef, useState } from 'preact/hooks'
import { uidToHex } from '../../../nfc/uid.ts'
import { Empty } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Picture } from '../../parts/picture.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import type { LiveTap } from '../../requests.ts'
import { formatNumber } from '../../words/language.ts'
import { Outcome } from './outcome.tsx'
import { words } from './words.ts'

/** Where a valid tap led: to the chip's own address, by the page; or an app verified it. */
function whereTo({ outcome, via, chip }: LiveTap): string {
  if (outcome !== 'valid') return '–'
  if (via === 'setup') return words.setup
  if (via === 'find') return words.app
  return chip?.redirectUrl?.replace(/^https?:\/\//, '') ?? words.tapPage
}

const columnsOf = ({
  isWall,
  withTeam,
}: {
  isWall: boolean
  withTeam: boolean
}): readonly Column<LiveTap>[] => {
  const widths = isWall
    ? ({ outcome: '240px', time: '170px' } as const)
    : ({ outcome: '152px', time: '112px' } as const)
  return [
    {
      key: 'chip',
      title: words.chip,
      width: 3,
      cell: ({ chip, uid }) => (
        <span class="named">
          <Picture url={chip?.picture} name={chip?.chipGroup} size={isWall ? 48 : 28} />
          <span>{chip?.label ?? (uid === null ? words.unknownChip : uidToHex(uid))}</span>
        </span>
      ),
    },
    {
      key: 'item',
      title: words.item,
      width: 2,
      from: 600,
      cell: ({ chip }) => chip && (chip.itemName ?? chip.item ?? <span class="quiet">{chip.chipGroup}</span>),
    },
    {
      key: 'outcome',
      title: words.outcome,
      width: widths.outcome,
      cell: (tap) => (
        <>
          <Outcome outcome={tap.outcome} />
          {tap.tamper === 'open' ? <StateBadge tone="bad">{words.sealOpen}</StateBadge> : null}
        </>
      ),
    },
    {
      key: 'led',
      title: words.led,
      width: 3,
      from: 740,
      cell: (tap) => <span class="quiet">{whereTo(tap)}</span>,
    },
    ...(withTeam
      ? [
          {
            key: 'team',
            title: words.teamName,
            width: 1,
            from: 1100,
            cell: ({ team }: LiveTap) => team ?? '–',
          },
        ]
      : []),
    {
      key: 'at',
      title: words.time,
      width: widths.time,
      from: 400,
      align: 'end',
      cell: ({ at }) => <Time at={at} as="clock" />,
    },
  ]
}

interface LiveTapsProps {
  readonly taps: readonly LiveTap[]
  readonly isWall: boolean
  /** Taps of several teams are among them. */
  readonly withTeam: boolean
}

/** Stands still while somebody reads further down, and says how many came since. */
export function LiveTaps({ taps, isWall, withTeam }: LiveTapsProps) {
  const [stopped, setStopped] = useState<readonly LiveTap[]>()
  const box = useRef<HTMLDivElement>(null)
  const shown = stopped ?? taps
  const newest = shown[0]
  const at = newest === undefined ? 0 : taps.indexOf(newest)
  const waiting = stopped === undefined ? 0 : at < 0 ? taps.length : at
  const onScroll = (event: Event) => {
    const { target } = event
    if (!(target instanceof HTMLElement)) return
    if (target.scrollTop > 8 && stopped === undefined) setStopped(taps)
    else if (target.scrollTop <= 8 && stopped !== undefined) setStopped(undefined)
  }
  const goOn = () => {
    setStopped(undefined)
    box.current?.querySelector('.table')?.scrollTo({ top: 0 })
  }
  return (
    <Panel
      title={words.taps}
      className="now-taps"
      aside={
        waiting > 0 ? (
          <button type="button" class="button small" onClick={goOn}>
            ↑ {words.paused(formatNumber(waiting))}
          </button>
        ) : undefined
      }
    >
      <div class="now-table" ref={box} onScrollCapture={onScroll}>
        {shown.length === 0 ? (
          <Empty title={words.none}>{words.noneNext}</Empty>
        ) : (
          <VirtualTable
            label={words.taps}
            rows={shown}
            columns={columnsOf({ isWall, withTeam })}
            rowKey={({ id }) => id}
            rowTo={({ uid }) => (uid === null ? undefined : `/chips/${uidToHex(uid)}`)}
            rowHeight={isWall ? 72 : 40}
          />
        )}
      </div>
    </Panel>
  )
}
