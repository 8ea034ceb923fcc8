import { csv, integer } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { formatNumber } from '../io/text.ts'

const usual = 100
const most = 1000

export const pageFlags = (what: string) => ({
  limit: integer('--limit <n>', `At most this many, up to ${most} (default: ${usual})`, [1, most]),
  before: integer('--before <id>', `Older than this ${what}: the next page`, [1, Number.MAX_SAFE_INTEGER]),
  csv,
})

/** Fetches one more than is shown, to know whether there is a next page. */
export const fetchPage = async <T extends { readonly id: number | null }>(
  ctx: CliContext,
  limit: number | undefined,
  fetch: (limit: number) => Promise<readonly T[]>,
): Promise<{ readonly page: readonly T[]; readonly hintAtMore: () => void }> => {
  const wanted = limit ?? usual
  const found = await fetch(Math.min(most, wanted + 1))
  const page = found.slice(0, wanted)
  const last = page.at(-1)
  const isFull = found.length > wanted || (wanted === most && found.length === most)
  return {
    page,
    hintAtMore: () => {
      if (isFull && last?.id != null)
        ctx.io.note(`These are the newest ${formatNumber(page.length)}. For older ones: --before ${last.id}`)
    },
  }
}
