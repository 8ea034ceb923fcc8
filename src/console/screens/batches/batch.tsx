import type { ComponentChildren } from 'preact'
import { Copyable } from '../../parts/copy.tsx'
import { Empty, WhenRead } from '../../parts/empty.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Time } from '../../parts/time.tsx'
import { Link, type ScreenProps, useQuery } from '../../router.tsx'
import { useRead } from '../../use-read.ts'
import { counted, formatNumber } from '../../words/language.ts'
import { BatchActs } from './acts.tsx'
import { actsFor, type Batch, isOwn, mayTouch } from './kinds.ts'
import { Progress } from './progress.tsx'
import { BatchRows } from './rows.tsx'
import { BatchState } from './state.tsx'
import { words } from './words.ts'

export function BatchScreen({ id }: ScreenProps) {
  const batch = useRead('GET /admin/batches/:id', { params: { id } }, { on: ['batches'] })
  return (
    <WhenRead of={batch}>
      {(data) => (
        <div class="batch">
          <header class="screen-head">
            <h1>{data.name ?? data.id}</h1>
            <BatchState state={data.state} />
            <BatchActs batch={data} onDone={batch.reload} />
          </header>
          <Remarks batch={data} />
          <div class="batch-columns">
            <div class="batch-aside">
              <Panel title={words.progress}>
                <div class="panel-text">
                  <Progress batch={data} />
                </div>
              </Panel>
              <Panel title={words.about} className="batch-about">
                <Facts batch={data} />
              </Panel>
            </div>
            <Rows batch={data} />
          </div>
        </div>
      )}
    </WhenRead>
  )
}

/** Why it is where it is, and why something cannot be done about it. */
function Remarks({ batch }: { readonly batch: Batch }) {
  const { state, error, lateSeconds } = batch
  const isWaiting = state === 'proposed'
  const remarks = [
    error,
    isWaiting && isOwn(batch) ? words.ownBatch : null,
    isWaiting && !isOwn(batch) && !actsFor(batch).includes('approve') ? words.cannotApprove : null,
    lateSeconds === null ? null : words.late(counted(lateSeconds, words.second, words.seconds)),
  ].filter((one) => one !== null)
  if (remarks.length === 0) return null
  return (
    <div class="batch-remarks" data-tone={state === 'failed' ? 'bad' : 'warn'}>
      {remarks.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  )
}

function Rows({ batch }: { readonly batch: Batch }) {
  const [shown, setShown] = useQuery('rows')
  const failed = batch.failed + batch.conflict
  const onlyFailed = shown === 'failed'
  const choice = (name: string, label: string, count: number) => (
    <button
      type="button"
      class="button small"
      aria-pressed={shown === name}
      onClick={() => setShown(name)}
    >{`${label} ${formatNumber(count)}`}</button>
  )
  return (
    <Panel
      title={words.plan}
      className="batch-rows"
      aside={
        <span class="batch-choices">
          {choice('', words.all, batch.total)}
          {choice('failed', words.failedRows, failed)}
        </span>
      }
    >
      {mayTouch(batch) ? (
        <BatchRows key={`${batch.id} ${onlyFailed}`} batch={batch} onlyFailed={onlyFailed} />
      ) : (
        <Empty title={words.rowsHidden}>{words.rowsHiddenWhy}</Empty>
      )}
    </Panel>
  )
}

function Facts({ batch }: { readonly batch: Batch }) {
  const { fields } = words
  return (
    <dl class="facts">
      <Fact name={fields.kind}>
        <code>{batch.kind}</code>
      </Fact>
      <Fact name={fields.team}>{batch.team}</Fact>
      <Fact name={fields.id}>
        <Copyable value={batch.id} label={fields.id} />
      </Fact>
      <Fact name={fields.startedBy}>{batch.startedBy}</Fact>
      {batch.approvedBy && <Fact name={fields.approvedBy}>{batch.approvedBy}</Fact>}
      {batch.note && <Fact name={fields.note}>{batch.note}</Fact>}
      {batch.undoes && (
        <Fact name={fields.undoes}>
          <Link to={`/batches/${batch.undoes}`}>{batch.undoes}</Link>
        </Fact>
      )}
      {batch.at && (
        <Fact name={fields.at}>
          <Time at={batch.at} />
        </Fact>
      )}
      {batch.until && (
        <Fact name={fields.until}>
          <Time at={batch.until} />
        </Fact>
      )}
      {batch.host && (
        <Fact name={fields.host}>
          {[batch.host, batch.context].filter((one) => one !== null).join(' · ')}
        </Fact>
      )}
      <Fact name={fields.created}>
        <Time at={batch.createdAt} />
      </Fact>
      {batch.startedAt && (
        <Fact name={fields.started}>
          <Time at={batch.startedAt} />
        </Fact>
      )}
      {batch.endedAt && (
        <Fact name={fields.ended}>
          <Time at={batch.endedAt} />
        </Fact>
      )}
    </dl>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
