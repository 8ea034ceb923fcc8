import type { Source } from '../batch/input/source.ts'
import { ApiError, DaemonUnreachable, elsewhere, isUnknownPath } from '../client/errors.ts'
import type { AnswerOf } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { BoxView } from './box-view.ts'
import type { ChipRow } from './chip-rows.ts'
import { daemonTooOld, type Order } from './forward-apdus.ts'
import type { BoxHeader, SavedBox } from './saved-box.ts'

export interface BoxInput {
  readonly order: Order & { readonly keySet: number }
  readonly reader: string | undefined
  readonly count: number | undefined
  readonly rows: readonly ChipRow[]
  readonly source: Source | undefined
  readonly sheetSettings: BoxHeader['settings']
  /** Begins the rows of the sheet anew, though other stations may be at them. */
  readonly startOver: boolean
  readonly view: BoxView
  readonly resumes: SavedBox | undefined
}

/** Stations with the same rows for the same chips share them. A box joins them once, so it never begins them anew. */
export const joinSheet = async (
  ctx: CliContext,
  { order, rows, resumes, startOver }: BoxInput,
  source: Source,
): Promise<AnswerOf<'POST /admin/nfc/sheets'>> => {
  const before = resumes?.header.settings.sheetRun
  const run = before === undefined ? undefined : await runNow(ctx, Number(before))
  if (run) return run
  const body = sheetBody({ order, rows, startOver }, source)
  return ctx.call('POST /admin/nfc/sheets', { body }).catch((error: unknown) => {
    // Administration was there a moment ago.
    throw error instanceof ApiError && error.code === elsewhere ? daemonTooOld() : error
  })
}

const sheetBody = (
  { order: { keySet, chipGroup, team }, rows, startOver }: Pick<BoxInput, 'order' | 'rows' | 'startOver'>,
  source: Source,
) => ({
  ...(team === undefined ? {} : { team }),
  ...(chipGroup === undefined ? {} : { chipGroup }),
  ...{ keySet, id: source.sha256(), rows: rows.length, items: itemsIn(rows), startOver },
})

/**
 * What no chip of the order could be set up with is refused once, before the first chip. A daemon that is away or of an
 * earlier version is left to the requests themselves.
 * @throws UsageError
 */
export const assertOrder = async (ctx: CliContext, input: BoxInput): Promise<void> => {
  const client = await ctx.client()
  try {
    await client.tryOut('POST /admin/nfc/sessions', { body: input.order })
    if (input.source !== undefined && input.resumes === undefined)
      await client.tryOut('POST /admin/nfc/sheets', { body: sheetBody(input, input.source) })
  } catch (error) {
    if (error instanceof ApiError && [400, 404, 409].includes(error.statusCode) && !isUnknownPath(error))
      throw new UsageError(error.message)
    const isLater = error instanceof DaemonUnreachable || isUnknownPath(error)
    if (!isLater && !(error instanceof ApiError && error.statusCode >= 500)) throw error
  }
}

/** The maximum of one request; the daemon refuses unknown ones before the first chip. */
const itemsIn = (rows: readonly ChipRow[]): { item: string; variant?: string }[] => {
  const items = new Map<string, { item: string; variant?: string }>()
  for (const { item, variant } of rows)
    if (item !== undefined)
      items.set(JSON.stringify([item, variant]), { item, ...(variant === undefined ? {} : { variant }) })
  return [...items.values()].slice(0, 10_000)
}

/** @returns undefined if the daemon keeps it no longer */
const runNow = async (
  ctx: CliContext,
  run: number,
): Promise<AnswerOf<'GET /admin/nfc/sheets/:run'> | undefined> => {
  try {
    return await ctx.call('GET /admin/nfc/sheets/:run', { params: { run } })
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 404) return undefined
    throw error
  }
}
