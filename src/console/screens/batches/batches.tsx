import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Time } from '../../parts/time.tsx'
import { type Column, VirtualTable } from '../../parts/virtual-table.tsx'
import { Link, useTeam } from '../../router.tsx'
import { currentSession } from '../../session.ts'
import { useRead } from '../../use-read.ts'
import { counted, formatNumber } from '../../words/language.ts'
import { shell } from '../../words/shell.ts'
import { type Batch, isOwn } from './kinds.ts'
import { Progress } from './progress.tsx'
import { BatchState } from './state.tsx'
import { words } from './words.ts'

const again = { on: ['batches'] } as const
const shownAtMost = 200

/** Batches that are not over, state by state: the first ones are what an operator looks for. */
const sections = [
  { title: words.sections.proposed, states: ['proposed'] },
  { title: words.sections.running, states: ['running'] },
  { title: words.sections.stopped, states: ['paused', 'failed'] },
  { title: words.sections.scheduled, states: ['scheduled'] },
  { title: words.sections.prepared, states: ['planned', 'uploading'] },
] as const
const over: ReadonlySet<Batch['state']> = new Set(['done', 'cancelled', 'undone'])

/** Asked for state by state: one that has run for long is not among the newest. */
function useBatchesIn(
  state: Exclude<Batch['state'], 'done' | 'cancelled' | 'undone'>,
  team: string | undefined,
) {
  return useRead('GET /admin/batches', { query: { team, state, limit: shownAtMost } }, again)
}

export function BatchesScreen() {
  const team = useTeam() || undefined
  const newest = useRead('GET /admin/batches', { query: { team, limit: shownAtMost } }, again)
  const open = {
    proposed: useBatchesIn('proposed', team),
    running: useBatchesIn('running', team),
    paused: useBatchesIn('paused', team),
    failed: useBatchesIn('failed', team),
    scheduled: useBatchesIn('scheduled', team),
    planned: useBatchesIn('planned', team),
    uploading: useBatchesIn('uploading', team),
  }
  const readings = [newest, ...Object.values(open)]
  const failed = readings.find(({ data, problem }) => data === undefined && problem !== undefined)
  const withTeam = team === undefined && currentSession().who?.team === null
  const ended = newest.data?.filter(({ state }) => over.has(state)) ?? []
  const shown = sections.flatMap(({ title, states }) => {
    const batches = states.flatMap((state) => open[state].data ?? [])
    return batches.length === 0 ? [] : [{ title, batches }]
  })
  const isLoading = readings.some(({ data }) => data === undefined)
  return (
    <div class="batches">
      <h1>{shell.screens.batches}</h1>
      {failed?.problem ? (
        <Problem problem={failed.problem} onRetry={() => readings.map(({ reload }) => reload())} />
      ) : isLoading ? (
        <Loading />
      ) : shown.length + ended.length === 0 ? (
        <Empty title={words.none}>
          <p>{words.noneWhy}</p>
          <code>tapchip chips apply --file chips.csv --detach</code>
        </Empty>
      ) : (
        <>
          {shown.length === 0 ? <p class="quiet">{words.nothingOpen}</p> : null}
          {shown.map(({ title, batches }) => (
            <Panel
              key={title}
              title={title}
              aside={<span class="quiet">{formatNumber(batches.length)}</span>}
            >
              <ul class="batch-list">
                {batches.map((batch) => (
                  <li key={batch.id}>
                    <OpenBatch batch={batch} withTeam={withTeam} />
                  </li>
                ))}
              </ul>
            </Panel>
          ))}
          {ended.length === 0 ? null : (
            <Panel title={words.sections.over} className="batches-over">
              <VirtualTable
                label={words.sections.over}
                rows={ended}
                columns={columnsOf(withTeam)}
                rowKey={({ id }) => id}
                rowTo={({ id }) => `/batches/${id}`}
                maxHeight={480}
              />
            </Panel>
          )}
        </>
      )}
    </div>
  )
}

function OpenBatch({ batch, withTeam }: { readonly batch: Batch; readonly withTeam: boolean }) {
  const { id, name, kind, state, team, startedBy, note, at, until, error, total, createdAt } = batch
  const isStarted = state === 'running' || state === 'paused' || state === 'failed'
  return (
    <div class="batch-card">
      <div class="batch-card-head">
        <Link to={`/batches/${id}`}>{name ?? id}</Link>
        <BatchState state={state} />
        <span class="quiet">
          <code>{kind}</code>
          {withTeam ? ` · ${team}` : ''} · {words.by(startedBy)} · <Time at={createdAt} as="ago" />
        </span>
      </div>
      {note === null ? null : <p>{note}</p>}
      {error === null ? null : <p class={state === 'failed' ? 'problem-line' : 'quiet'}>{error}</p>}
      {state === 'proposed' ? (
        <p class="quiet">
          {counted(total, words.row, words.rows)}
          {isOwn(batch) ? ` · ${words.ownBatch}` : ''}
        </p>
      ) : null}
      {state === 'scheduled' ? (
        <p>
          {counted(total, words.row, words.rows)} · {words.fields.at} <Time at={at} />
          {until === null ? null : (
            <>
              {' '}
              · {words.fields.until} <Time at={until} />
            </>
          )}
        </p>
      ) : null}
      {isStarted ? <Progress batch={batch} /> : null}
    </div>
  )
}

const columnsOf = (withTeam: boolean): readonly Column<Batch>[] => [
  { key: 'name', title: words.fields.name, width: 3, cell: ({ name, id }) => name ?? id },
  {
    key: 'kind',
    title: words.fields.kind,
    width: 2,
    from: 560,
    cell: ({ kind }) => <code>{kind}</code>,
  },
  ...(withTeam
    ? [{ key: 'team', title: words.fields.team, width: 1, from: 900, cell: ({ team }: Batch) => team }]
    : []),
  { key: 'by', title: words.fields.startedBy, width: 1, from: 760, cell: ({ startedBy }) => startedBy },
  {
    key: 'state',
    title: words.fields.state,
    width: '128px',
    cell: ({ state }) => <BatchState state={state} />,
  },
  {
    key: 'rows',
    title: words.fields.rows,
    width: '96px',
    from: 420,
    align: 'end',
    cell: ({ total }) => formatNumber(total),
  },
  {
    key: 'failed',
    title: words.states.failed,
    width: '128px',
    from: 640,
    align: 'end',
    cell: ({ failed, conflict }) =>
      failed + conflict === 0 ? (
        <span class="quiet">0</span>
      ) : (
        <span class="batch-error">{formatNumber(failed + conflict)}</span>
      ),
  },
  {
    key: 'ended',
    title: words.fields.ended,
    width: '120px',
    from: 680,
    align: 'end',
    cell: ({ endedAt }) => <Time at={endedAt} as="ago" />,
  },
]
