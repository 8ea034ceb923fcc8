import { useEffect, useState } from 'preact/hooks'
import { RequestProblem } from './api.ts'

interface Pages<Row> {
  readonly rows: readonly Row[]
  readonly problem: RequestProblem | undefined
  readonly more: () => Promise<void>
}

/**
 * The newest page, which is read again and again, with older ones below it as they are asked for.
 * @param of what the rows are of; another one forgets the older pages
 * @param load the page before a row's ID
 */
export function usePages<Row extends { readonly id: number }>(
  newest: readonly Row[],
  { of, pageSize, load }: { of: string; pageSize: number; load: (before: number) => Promise<readonly Row[]> },
): Pages<Row> {
  const [older, setOlder] = useState<readonly Row[]>([])
  const [problem, setProblem] = useState<RequestProblem>()
  useEffect(() => setOlder([]), [of])
  const oldestOfNewest = newest.at(-1)?.id ?? 0
  const rows = [...newest, ...older.filter(({ id }) => id < oldestOfNewest)]
  const more = async () => {
    const before = rows.at(-1)?.id
    if (before === undefined || newest.length < pageSize) return
    try {
      const page = await load(before)
      setOlder((known) => [...known, ...page.filter(({ id }) => !known.some((one) => one.id === id))])
    } catch (error) {
      if (!(error instanceof RequestProblem)) throw error
      setProblem(error)
    }
  }
  return { rows, problem, more }
}
