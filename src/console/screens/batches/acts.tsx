import { act } from '../../api.ts'
import { ask } from '../../parts/ask.tsx'
import { counted } from '../../words/language.ts'
import { actsFor, type Batch, type BatchAct, hasFailedRows } from './kinds.ts'
import { words } from './words.ts'

interface ActsProps {
  readonly batch: Batch
  readonly onDone: () => void
}

/** The buttons that state and credential allow. */
export function BatchActs({ batch, onDone }: ActsProps) {
  const name = batch.name ?? batch.id
  const rows = (count: number) => counted(count, words.row, words.rows)
  const why: Readonly<Record<BatchAct, string>> = {
    approve: words.why.approve(rows(batch.total), batch.startedBy),
    pause: words.why.pause,
    resume: hasFailedRows(batch)
      ? words.why.retry(rows(batch.failed + batch.conflict))
      : words.why.resume(rows(batch.total - batch.done)),
    cancel: words.why.cancel,
    undo: words.why.undo(rows(batch.changed)),
  }
  return (
    <div class="batch-acts">
      {actsFor(batch).map((key) => {
        const isDangerous = key === 'cancel' || key === 'undo'
        const onClick = () =>
          ask({
            title: words.ask[key](name),
            children: <p>{why[key]}</p>,
            button: words.acts[key],
            isDangerous,
            team: batch.team,
            run: async (confirmed) => {
              await carryOut(key, batch, confirmed)
              onDone()
            },
          })
        return (
          <button
            key={key}
            type="button"
            class={isDangerous ? 'button danger' : 'button primary'}
            onClick={onClick}
          >
            {words.acts[key]}
          </button>
        )
      })}
    </div>
  )
}

async function carryOut(key: BatchAct, batch: Batch, confirmed: string | undefined): Promise<void> {
  const params = { id: batch.id }
  if (key === 'undo') return undo(batch, confirmed)
  if (key === 'resume') {
    const body = hasFailedRows(batch) ? { retryFailed: true } : {}
    await act('POST /admin/batches/:id/resume', { params, body }, confirmed)
  } else await act(`POST /admin/batches/:id/${key}`, { params }, confirmed)
}

/** An undo is a batch too. One that was begun before goes on. */
async function undo({ id }: Batch, confirmed: string | undefined): Promise<void> {
  const made = await act('POST /admin/batches/:id/undo', { params: { id }, body: {} }, confirmed)
  const params = { id: made.id }
  if (made.state === 'paused' || made.state === 'failed')
    await act('POST /admin/batches/:id/resume', { params, body: {} }, confirmed)
  if (made.state !== 'uploading' && made.state !== 'planned') return
  await act('POST /admin/batches/:id/plan', { params, query: { report: 'none' } }, confirmed)
  await act('POST /admin/batches/:id/start', { params }, confirmed)
}
