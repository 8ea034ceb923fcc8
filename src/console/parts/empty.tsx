import type { ComponentChildren } from 'preact'
import { consoleGone, type RequestProblem } from '../api.ts'
import type { Reading } from '../use-read.ts'
import { shell } from '../words/shell.ts'

/** There is nothing yet: says what would be here, and how it comes. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <div class="quiet">{children}</div>}
    </div>
  )
}

const nextStep = ({ status, code }: RequestProblem): string => {
  if (code === 'daemon_away') return shell.problemNext.away
  if (code === 'no_session' || code === consoleGone) return shell.problemNext.session
  return status === 401 || status === 403 ? shell.problemNext.forbidden : shell.problemNext.other
}

interface ProblemProps {
  readonly problem: RequestProblem
  readonly onRetry?: (() => void) | undefined
}

/** Instead of what cannot be shown: why, and what to do. */
export function Problem({ problem, onRetry }: ProblemProps) {
  const isGone = problem.code === consoleGone
  return (
    <div class="problem" role="alert">
      <p class="empty-title">{shell.problem}</p>
      <p>{isGone ? shell.consoleGone : problem.message}</p>
      <p class="quiet">{problem.advice ?? nextStep(problem)}</p>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          {shell.retry}
        </button>
      )}
    </div>
  )
}

export const Loading = () => (
  <p class="loading quiet" aria-live="polite">
    {shell.loading}…
  </p>
)

interface WhenReadProps<T> {
  readonly of: Reading<T>
  /** Instead of an empty list. */
  readonly empty?: ComponentChildren
  readonly children: (data: T) => ComponentChildren
}

/** Shows the answer; until then that it is being read, or why it was not. */
export function WhenRead<T>({ of: { data, problem, reload }, empty, children }: WhenReadProps<T>) {
  if (data === undefined) return problem ? <Problem problem={problem} onRetry={reload} /> : <Loading />
  if (empty !== undefined && Array.isArray(data) && data.length === 0) return <>{empty}</>
  return <>{children(data)}</>
}
