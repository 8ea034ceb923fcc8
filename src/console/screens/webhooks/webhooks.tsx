import type { ElementOf } from '../../api.ts'
import { Empty, WhenRead } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { useTeam } from '../../router.tsx'
import { askEveryMs, currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { formatNumber } from '../../words/language.ts'
import { shell } from '../../words/shell.ts'
import { Deliveries } from './deliveries.tsx'
import { words } from './words.ts'

type Webhook = ElementOf<'GET /admin/webhooks/health'>

export function WebhooksScreen() {
  const team = useTeam() || undefined
  const withTeam = team === undefined && currentSession().who?.team === null
  const health = useRead(
    'GET /admin/webhooks/health',
    { query: { team } },
    { on: ['webhooks'], restMs: 5000, everyMs: askEveryMs() },
  )
  return (
    <div class="screen">
      <h1>{shell.screens.webhooks}</h1>
      <WhenRead
        of={health}
        empty={
          <Empty title={words.none}>
            <code>tapchip webhooks create URL</code>
          </Empty>
        }
      >
        {(webhooks) => (
          <>
            <Panel title={words.endpoints} aside={<span class="quiet">{formatNumber(webhooks.length)}</span>}>
              <VirtualTable
                label={words.endpoints}
                rows={webhooks}
                columns={columnsOf(withTeam)}
                rowKey={({ id }) => id}
                rowHeight={52}
                maxHeight={360}
              />
            </Panel>
            <Deliveries webhooks={webhooks} team={team} onSent={health.reload} />
          </>
        )}
      </WhenRead>
    </div>
  )
}

function Health({ webhook }: { readonly webhook: Webhook }) {
  const { disabledAt, disabledReason, error, recent } = webhook
  if (disabledAt !== null)
    return (
      <>
        <StateBadge tone="bad">{words.disabled}</StateBadge>{' '}
        <span class="quiet" title={disabledReason ?? undefined}>
          {disabledReason}
        </span>
      </>
    )
  if (error !== null)
    return (
      <>
        <StateBadge tone="warn">{words.failing}</StateBadge>{' '}
        <span class="quiet" title={error}>
          {error}
        </span>
      </>
    )
  if (recent.delivered + recent.failed === 0) return <StateBadge tone="quiet">{words.unused}</StateBadge>
  return <StateBadge tone="good">{words.well}</StateBadge>
}

const columnsOf = (withTeam: boolean): readonly Column<Webhook>[] => [
  {
    key: 'url',
    title: words.url,
    width: 3,
    cell: ({ url }) => <span title={url}>{url.replace(/^https?:\/\//, '')}</span>,
  },
  ...(withTeam ? [{ key: 'team', title: words.team, width: 1, from: 900, cell: teamOf } as const] : []),
  { key: 'health', title: words.health, width: 3, cell: (webhook) => <Health webhook={webhook} /> },
  {
    key: 'recent',
    title: words.recent,
    width: '176px',
    from: 720,
    align: 'end',
    cell: ({ recent }) => (
      <span title={words.recentHint}>
        {formatNumber(recent.delivered)} / {formatNumber(recent.failed)}
      </span>
    ),
  },
  {
    key: 'waiting',
    title: words.waiting,
    width: '88px',
    from: 480,
    align: 'end',
    cell: ({ waiting }) => formatNumber(waiting),
  },
  {
    key: 'last',
    title: words.lastDelivered,
    width: '136px',
    from: 620,
    align: 'end',
    cell: ({ lastDeliveredAt }) => <Time at={lastDeliveredAt} as="ago" />,
  },
]

const teamOf = ({ team }: { readonly team: string }) => team
