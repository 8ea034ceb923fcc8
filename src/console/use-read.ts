import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type AnswerOf, type RequestOf, RequestProblem, read } from './api.ts'
import { type Changed, onChange } from './live.ts'
import type { ReadKey } from './requests.ts'

export interface Reading<T> {
  /** The last answer, also while a newer one is on its way. */
  readonly data: T | undefined
  readonly problem: RequestProblem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

interface Again {
  /** Read again once something of these changed. */
  readonly on?: readonly Changed[]
  /** Not sooner than so long after the last time. */
  readonly restMs?: number
  /** For what no event tells. */
  readonly everyMs?: number
}

/**
 * Reads when the request changes, and again as events tell; once for all of them that a hidden page missed.
 * @param request undefined: not yet
 */
export function useRead<K extends ReadKey>(
  key: K,
  request: RequestOf<K> | undefined,
  { on = [], restMs = 1500, everyMs }: Again = {},
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
  const latestOn = useRef(on)
  latestOn.current = on

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

  const kinds = on.join()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isMissed = false
    let lastAt = 0
    const again = () => {
      isMissed = document.visibilityState !== 'visible'
      if (isMissed) return
      lastAt = performance.now()
      reload()
    }
    const soon = () => {
      timer ??= setTimeout(
        () => {
          timer = undefined
          again()
        },
        lastAt + restMs - performance.now(),
      )
    }
    const onVisible = () => isMissed && soon()
    const unfollow = kinds === '' ? undefined : onChange(latestOn.current, soon)
    const interval = everyMs === undefined ? undefined : setInterval(again, everyMs)
    document.addEventListener('visibilitychange', onVisible)
    return () => {
      clearTimeout(timer)
      clearInterval(interval)
      unfollow?.()
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [kinds, restMs, everyMs, reload])
  return { ...state, reload }
}
