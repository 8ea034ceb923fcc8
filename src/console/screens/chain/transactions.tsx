import { type AnswerOf, type ElementOf, read } from '../../api.ts'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge, type Tone } from '../../parts/state-badge.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { askEveryMs } from '../../session.ts'
import { usePages } from '../../use-pages.ts'
import { useRead } from '../../use-read.ts'
import { formatShort } from '../../words/language.ts'
import { words } from './words.ts'

type Transaction = ElementOf<'GET /admin/transactions'>
type State = Transaction['state']

const tones: Readonly<Record<State, Tone>> = {
  queued: 'info',
  signed: 'info',
  broadcast: 'info',
  mined: 'info',
  confirmed: 'good',
  reverted: 'bad',
  cancelled: 'quiet',
}
const pageSize = 100

interface TransactionsProps {
  /** Undefined: not counted yet. */
  readonly stats: AnswerOf<'GET /admin/transactions/stats'> | undefined
  readonly team: string | undefined
  readonly withTeam: boolean
}

/** Newest first: read by their IDs, so that no table is walked for a state that few are in. */
export function Transactions({ stats, team, withTeam }: TransactionsProps) {
  const query = { team, limit: pageSize }
  const { data, problem, reload } = useRead(
    'GET /admin/transactions',
    { query },
    { on: ['transactions'], everyMs: askEveryMs() },
  )
  const {
    rows,
    problem: olderProblem,
    more,
  } = usePages(data ?? [], {
    of: team ?? '',
    pageSize,
    load: (before) => read('GET /admin/transactions', { query: { ...query, before } }),
  })
  const counts = new Map<string, number>(
    [...(stats?.settled ?? []), ...(stats?.open ?? [])].map(({ state, transactions }) => [
      state,
      transactions,
    ]),
  )
  const shown = problem ?? olderProblem
  return (
    <>
      <dl class="states">
        {states.map((state) => (
          <div key={state}>
            <dt>
              <StateBadge tone={tones[state]}>{words.states[state]}</StateBadge>
            </dt>
            <dd>{stats === undefined ? '…' : formatShort(counts.get(state) ?? 0)}</dd>
          </div>
        ))}
      </dl>
      <Panel title={words.transactions}>
        {shown ? <Problem problem={shown} onRetry={reload} /> : null}
        {data === undefined ? (
          <Loading />
        ) : rows.length === 0 ? (
          <Empty title={words.noTransactions} />
        ) : (
          <VirtualTable
            label={words.transactions}
            rows={rows}
            columns={columnsOf(withTeam)}
            rowKey={({ id }) => id}
            onEnd={more}
            maxHeight={520}
          />
        )}
      </Panel>
    </>
  )
}

const states: readonly State[] = [
  'queued',
  'signed',
  'broadcast',
  'mined',
  'confirmed',
  'reverted',
  'cancelled',
]

const columnsOf = (withTeam: boolean): readonly Column<Transaction>[] => [
  { key: 'id', title: '#', width: '80px', cell: ({ id }) => id },
  { key: 'kind', title: words.kind, width: 2, cell: ({ kind }) => kind },
  ...(withTeam
    ? [
        {
          key: 'team',
          title: words.team,
          width: 1,
          from: 860,
          cell: ({ team }: Transaction) => team ?? '–',
        } as const,
      ]
    : []),
  {
    key: 'state',
    title: words.state,
    width: '144px',
    cell: ({ state }) => <StateBadge tone={tones[state]}>{words.states[state]}</StateBadge>,
  },
  {
    key: 'why',
    title: words.waits,
    width: 3,
    from: 700,
    cell: ({ waiting, reason }) => (
      <span class="quiet" title={waiting ?? reason ?? undefined}>
        {waiting ?? reason}
      </span>
    ),
  },
  {
    key: 'at',
    title: words.created,
    width: '112px',
    from: 480,
    align: 'end',
    cell: ({ createdAt }) => <Time at={createdAt} as="ago" />,
  },
]
