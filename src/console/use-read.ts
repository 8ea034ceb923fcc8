import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type AnswerOf, type RequestOf, RequestProblem, read } from './api.ts'
import type { ReadKey } from './requests.ts'

export interface Reading<T> {
  /** The last answer, also while a newer one is on its way. */
  readonly data: T | undefined
  readonly problem: RequestProblem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

/**
 * Reads when the request changes, and again every `everyMs` while the page is visible.
 * @param request undefined: not yet
 */
export function useRead<K extends ReadKey>(
  key: K,
  request: RequestOf<K> | undefined,
  { everyMs }: { everyMs?: number } = {},
): Reading<AnswerOf<K>> {
  const [state, setState] = useState<Omit<Reading<AnswerOf<K>>, 'reload'>>({
    data: undefined,
    problem: undefined,
    isLoading: true,
  })
  const [count, setCount] = useState(0)
  const reload = useCallback(() => setCount((n) => n + 1), [])
  const asText = request === undefined ? undefined : JSON.stringify(request)
  const latest = useRef(request)
  latest.current = request

  // `asText` stands for the request, `count` for a repetition.
  useEffect(() => {
    const asked = latest.current
    if (asked === undefined) return
    const ended = new AbortController()
    setState((before) => ({ ...before, isLoading: true }))
    read(key, asked, ended.signal).then(
      (data) => !ended.signal.aborted && setState({ data, problem: undefined, isLoading: false }),
      (error: unknown) => {
        if (ended.signal.aborted) return
        const problem =
          error instanceof RequestProblem
            ? error
            : new RequestProblem({ status: 0, code: 'unknown', message: String(error) })
        setState(({ data }) => ({ data, problem, isLoading: false }))
      },
    )
    return () => ended.abort()
  }, [key, asText, count])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])
  return { ...state, reload }
}
