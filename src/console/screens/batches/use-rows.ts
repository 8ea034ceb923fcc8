import { useEffect, useRef, useState } from 'preact/hooks'
import { type AnswerOf, RequestProblem, read } from '../../api.ts'

type Page = AnswerOf<'GET /admin/batches/:id/rows'>
export type BatchRow = Page['rows'][number]
type Loaded = Page & { readonly after: string | undefined }

const pageSize = 200
/** A page may be empty though there are more: failed rows are looked for a part at a time. */
const enough = 30

interface Rows {
  readonly rows: readonly BatchRow[]
  /** Undefined: nothing was read yet. Null: all are here. */
  readonly next: string | null | undefined
  readonly problem: RequestProblem | undefined
  readonly more: () => void
  readonly retry: () => void
  /** The rows that are in the page, which are read again. */
  readonly onView: (rows: readonly BatchRow[]) => void
}

/**
 * The rows of a batch, a page at a time as they are scrolled to.
 * @param version whenever it changes, the pages in view are read again
 */
export function useRows(id: string, failed: boolean, version: string): Rows {
  const [pages, setPages] = useState<readonly Loaded[]>([])
  const [problem, setProblem] = useState<RequestProblem>()
  const isReading = useRef(false)
  const inView = useRef<readonly [number, number]>([0, 0])
  const isAlive = useRef(true)
  useEffect(
    () => () => {
      isAlive.current = false
    },
    [],
  )

  const fetchPage = async (after: string | undefined): Promise<Loaded> => ({
    ...(await read('GET /admin/batches/:id/rows', {
      params: { id },
      query: { after, limit: pageSize, ...(failed ? { failed: true } : {}) },
    })),
    after,
  })
  const guarded = async (run: () => Promise<void>) => {
    if (isReading.current) return
    isReading.current = true
    try {
      await run()
    } catch (error) {
      if (!(error instanceof RequestProblem)) throw error
      if (isAlive.current) setProblem(error)
    } finally {
      isReading.current = false
    }
  }
  const next = pages.length === 0 ? undefined : (pages.at(-1)?.next ?? null)
  const rows = pages.flatMap((page) => page.rows)
  const more = () =>
    void guarded(async () => {
      if (next === null || problem) return
      const page = await fetchPage(next)
      if (isAlive.current) setPages((before) => [...before, page])
    })
  useEffect(() => {
    if (rows.length < enough) more()
  }, [next, problem])

  useEffect(() => {
    void guarded(async () => {
      const [first, last] = inView.current
      const again = pages.flatMap((page, at) => {
        const isSeen = page.rows.some(({ row }) => row >= first && row <= last)
        // At the end of the failed rows, others may have come.
        return isSeen || (at === pages.length - 1 && page.next === null) ? [page] : []
      })
      for (const { after } of again) {
        const fresh = await fetchPage(after)
        if (!isAlive.current) return
        setPages((before) => {
          const at = before.findIndex((page) => page.after === after)
          const old = before[at]
          if (old === undefined) return before
          // The pages after it begin elsewhere now.
          const rest = old.next === fresh.next ? before.slice(at + 1) : []
          return [...before.slice(0, at), fresh, ...rest]
        })
      }
    })
  }, [version])

  return {
    rows,
    next,
    problem,
    more,
    retry: () => setProblem(undefined),
    onView: (seen) => {
      const numbers = seen.map(({ row }) => row)
      if (numbers.length > 0) inView.current = [Math.min(...numbers), Math.max(...numbers)]
    },
  }
}
