import { shownUrl } from '../before-write.ts'
import { addressOf } from '../client/address.ts'
import type { EndpointKey } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import type { ExitCode } from '../errors.ts'
import { clean, counted } from '../io/text.ts'
import type { Result, Row } from './journal.ts'
import type { RowKind } from './kind.ts'

/** Rows that the check settles, by their numbers: they are done without being sent. */
export const settledIn = <R extends Row, T extends Result, C>(
  kind: RowKind<R, T, C>,
  rows: readonly R[],
  check: C | undefined,
): Map<number, T> => {
  const ends = rows.map((row) => (check === undefined ? undefined : kind.settle?.(row, check)))
  return new Map(ends.flatMap((end) => (end ? [[end.row, end] as const] : [])))
}

/** Shows what would be done with each row, and on stderr the requests that would do it. */
export const showDryRun = async <R extends Row, T extends Result, C>(
  ctx: CliContext,
  kind: RowKind<R, T, C>,
  rows: readonly R[],
  check: C | undefined,
): Promise<ExitCode> => {
  const code = await kind.show(ctx, rows, check)
  noteRequests(ctx, kind.endpoint, rows.length - settledIn(kind, rows, check).size)
  return code
}

/** "Would send 4 rows by POST http://127.0.0.1:8484/chips/batch." Parameters of the path stay as their names. */
export const noteRequests = (ctx: CliContext, endpoint: EndpointKey, rows: number): void => {
  if (rows === 0) return
  const params = Object.fromEntries(
    [...endpoint.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => [name, name.toUpperCase()]),
  )
  const { method, path } = addressOf(endpoint, { params }, ctx.config().wireBadge)
  ctx.io.note(clean(`Would send ${counted(rows, 'row')} by ${method} ${shownUrl(ctx.config(), path)}.`))
}
