import { integer } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { formatNumber } from '../io/text.ts'

const defaultLimit = 100
const maxLimit = 1000

export const pageFlags = (what: string) => ({
  limit: integer('--limit <n>', `At most this many, up to ${maxLimit} (default: ${defaultLimit})`, [
    1,
    maxLimit,
  ]),
  before: integer('--before <id>', `Older than this ${what}: the next page`, [1, Number.MAX_SAFE_INTEGER]),
})

/** Fetches one more than is shown, to know whether there is a next page. */
export const fetchPage = async <T extends { readonly id: number | null }>(
  ctx: CliContext,
  limit: number | undefined,
  fetch: (limit: number) => Promise<readonly T[]>,
): Promise<{ readonly page: readonly T[]; readonly hintNextPage: () => void }> => {
  const requested = limit ?? defaultLimit
  const found = await fetch(Math.min(maxLimit, requested + 1))
  const page = found.slice(0, requested)
  const last = page.at(-1)
  const isFull = found.length > requested || (requested === maxLimit && found.length === maxLimit)
  return {
    page,
    hintNextPage: () => {
      if (isFull && last?.id != null)
        ctx.io.note(`These are the newest ${formatNumber(page.length)}. For older ones: --before ${last.id}`)
    },
  }
}
