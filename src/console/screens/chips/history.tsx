import { useState } from 'preact/hooks'
import { type ElementOf, RequestProblem, read } from '../../api.ts'
import { Empty, Loading, Problem } from '../../parts/empty.tsx'
import type { Tone } from '../../parts/state-badge.tsx'
import { Timeline } from '../../parts/timeline.tsx'
import { useRead } from '../../use-read.ts'
import { Outcome } from '../now/outcome.tsx'
import { words as outcomeWords } from '../now/words.ts'
import { words } from './words.ts'

type Happened = ElementOf<'GET /admin/chips/:uid/history'>

const pageSize = 50
const tones: Readonly<Record<Happened['kind'], Tone>> = {
  tap: 'quiet',
  change: 'info',
  registration: 'info',
  setup: 'info',
  transfer: 'good',
  claim: 'good',
  mint: 'good',
  assignment: 'info',
}

const shown = (value: unknown): string =>
  value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value)

const isOutcome = (value: unknown): value is keyof typeof outcomeWords.outcomes =>
  typeof value === 'string' && value in outcomeWords.outcomes

const TapTitle = ({ detail }: Pick<Happened, 'detail'>) => (
  <>
    {words.kinds.tap} {isOutcome(detail?.outcome) ? <Outcome outcome={detail.outcome} /> : null}
  </>
)

const isAction = (value: unknown): value is keyof typeof words.actions =>
  typeof value === 'string' && value in words.actions

/** Said by the title, or of no use to people. */
const untold: Readonly<Record<string, true>> = { outcome: true, disabled: true, disabledAt: true, note: true }
/** Sentences of people. */
const sentences: Readonly<Record<string, true>> = { reason: true, text: true }

/** The other details, in one line. */
const factsOf = (detail: Happened['detail']): string =>
  Object.entries(detail ?? {})
    .filter(([name, value]) => value !== null && !untold[name] && !(name === 'action' && isAction(value)))
    .map(([name, value]) => (sentences[name] ? shown(value) : `${name} ${shown(value)}`))
    .join(' · ')

const titleOf = ({ kind, detail }: Pick<Happened, 'kind' | 'detail'>) =>
  kind === 'tap' ? (
    <TapTitle detail={detail} />
  ) : kind === 'change' && isAction(detail?.action) ? (
    words.actions[detail.action]
  ) : (
    words.kinds[kind]
  )

/** A chip's whole life, newest first; older parts on request. */
export function ChipHistory({ uid }: { readonly uid: string }) {
  const { data, problem, reload } = useRead('GET /admin/chips/:uid/history', {
    params: { uid },
    query: { limit: pageSize },
  })
  const [older, setOlder] = useState<readonly Happened[]>([])
  const [isAll, setAll] = useState(false)
  const [failed, setFailed] = useState<RequestProblem>()
  if (data === undefined) return problem ? <Problem problem={problem} onRetry={reload} /> : <Loading />
  const all = [...data, ...older]
  if (all.length === 0) return <Empty title={words.noHistory} />
  const more = async () => {
    const before = all.at(-1)?.at
    try {
      const next = await read('GET /admin/chips/:uid/history', {
        params: { uid },
        query: { before, limit: pageSize },
      })
      setOlder([...older, ...next])
      setAll(next.length < pageSize)
    } catch (error) {
      if (!(error instanceof RequestProblem)) throw error
      setFailed(error)
    }
  }
  return (
    <>
      <Timeline
        label={words.history}
        entries={all.map(({ at, kind, by, changes, detail }, index) => ({
          key: `${all.length - index}`,
          at,
          by,
          tone: tones[kind],
          title: titleOf({ kind, detail }),
          children: (
            <>
              {Object.entries(changes ?? {})
                .filter(([column]) => !untold[column])
                .map(([column, { from, to }]) => (
                  <p key={column}>
                    {column}: <del>{shown(from)}</del> → <ins>{shown(to)}</ins>
                  </p>
                ))}
              <p class="quiet">{factsOf(detail)}</p>
            </>
          ),
        }))}
      />
      {failed && <Problem problem={failed} />}
      {!isAll && data.length === pageSize && (
        <button type="button" class="button" onClick={more}>
          {words.older}
        </button>
      )}
    </>
  )
}
