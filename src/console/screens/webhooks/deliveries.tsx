import { act, type ElementOf, read } from '../../api.ts'
import { ask } from '../../parts/ask.tsx'
import { Empty, Problem } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge, type Tone } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { useQuery } from '../../router.tsx'
import { askEveryMs, may } from '../../session.ts'
import { usePages } from '../../use-pages.ts'
import { useRead } from '../../use-read.ts'
import { formatNumber } from '../../words/language.ts'

import { words } from './words.ts'

type Webhook = ElementOf<'GET /admin/webhooks/health'>
type Delivery = ElementOf<'GET /admin/webhook-deliveries'>
type State = Delivery['state']

const states: readonly State[] = ['waiting', 'delivered', 'failed', 'dropped']
const tones: Readonly<Record<State, Tone>> = {
  waiting: 'info',
  delivered: 'good',
  failed: 'bad',
  dropped: 'quiet',
}
const pageSize = 100

interface DeliveriesProps {
  readonly webhooks: readonly Webhook[]
  readonly team: string | undefined
  readonly onSent: () => void
}

export function Deliveries({ webhooks, team, onSent }: DeliveriesProps) {
  const [webhook, setWebhook] = useQuery('webhook')
  const [stateText, setState] = useQuery('state')
  const state = states.find((one) => one === stateText)
  const query = { team, webhook: webhook || undefined, state, limit: pageSize }
  const { data, problem, reload } = useRead(
    'GET /admin/webhook-deliveries',
    { query },
    { on: ['webhooks'], everyMs: askEveryMs() },
  )
  const urlOf = new Map(webhooks.map(({ id, url }) => [id, url.replace(/^https?:\/\//, '')]))
  const {
    rows,
    problem: olderProblem,
    more,
  } = usePages(data ?? [], {
    of: JSON.stringify([team, webhook, state]),
    pageSize,
    load: (before) => read('GET /admin/webhook-deliveries', { query: { ...query, before } }),
  })
  const redeliver = ({ id, type, team: of, webhook: to }: Delivery) =>
    ask({
      title: words.redeliverAsk(type),
      children: <p>{words.redeliverWhy(urlOf.get(to) ?? '')}</p>,
      button: words.redeliver,
      team: of,
      run: async (confirmed) => {
        await act('POST /admin/webhook-deliveries/:id/redeliver', { params: { id } }, confirmed)
        reload()
        onSent()
      },
    })
  const shown = problem ?? olderProblem
  return (
    <Panel
      title={words.deliveries}
      aside={
        <span class="panel-choices">
          <select
            aria-label={words.endpoint}
            value={webhook}
            onChange={({ currentTarget }) => setWebhook(currentTarget.value)}
          >
            <option value="">{words.allEndpoints}</option>
            {webhooks.map(({ id }) => (
              <option key={id} value={String(id)}>
                {urlOf.get(id)}
              </option>
            ))}
          </select>
          <select
            aria-label={words.state}
            value={state ?? ''}
            onChange={({ currentTarget }) => setState(currentTarget.value)}
          >
            <option value="">{words.allStates}</option>
            {states.map((one) => (
              <option key={one} value={one}>
                {words.states[one]}
              </option>
            ))}
          </select>
        </span>
      }
    >
      {shown ? <Problem problem={shown} onRetry={reload} /> : null}
      {rows.length === 0 ? (
        <Empty title={words.noDeliveries} />
      ) : (
        <VirtualTable
          label={words.deliveries}
          rows={rows}
          columns={columnsOf(urlOf, redeliver)}
          rowKey={({ id }) => id}
          onEnd={more}
          maxHeight={520}
        />
      )}
    </Panel>
  )
}

const columnsOf = (
  urlOf: ReadonlyMap<number, string>,
  redeliver: (delivery: Delivery) => void,
): readonly Column<Delivery>[] => [
  { key: 'type', title: words.type, width: 2, cell: ({ type }) => type },
  { key: 'endpoint', title: words.endpoint, width: 2, from: 860, cell: ({ webhook }) => urlOf.get(webhook) },
  {
    key: 'state',
    title: words.state,
    width: '120px',
    cell: ({ state }) => <StateBadge tone={tones[state]}>{words.states[state]}</StateBadge>,
  },
  {
    key: 'answer',
    title: words.answer,
    width: 2,
    from: 620,
    cell: ({ statusCode, error, attempts }) => (
      <span class="quiet" title={error ?? undefined}>
        {[statusCode, error, attempts > 1 ? words.attempts(formatNumber(attempts)) : null]
          .filter((part) => part !== null)
          .join(' · ')}
      </span>
    ),
  },
  {
    key: 'at',
    title: words.at,
    width: '112px',
    from: 480,
    align: 'end',
    cell: ({ at }) => <Time at={at} as="ago" />,
  },
  ...(may('POST /admin/webhook-deliveries/:id/redeliver')
    ? [
        {
          key: 'act',
          title: words.act,
          width: '136px',
          align: 'end',
          cell: (delivery: Delivery) =>
            delivery.state === 'waiting' ? null : (
              <button type="button" class="button small" onClick={() => redeliver(delivery)}>
                {words.redeliver}
              </button>
            ),
        } as const,
      ]
    : []),
]
