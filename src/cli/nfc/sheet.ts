import type { AnswerOf, CallArguments } from '../client/types.ts'
import type { CliContext } from '../context.ts'

/** A run over a sheet, whose rows the daemon gives to the chips of all stations. */
export type SheetRun = AnswerOf<'POST /admin/nfc/sheets'>

/** @throws ApiError, DaemonUnreachable */
export const joinSheet = (
  ctx: Pick<CliContext, 'call'>,
  body: NonNullable<NonNullable<CallArguments<'POST /admin/nfc/sheets'>[0]>['body']>,
): Promise<SheetRun> => ctx.call('POST /admin/nfc/sheets', { body })

/** @throws ApiError, DaemonUnreachable */
export const sheetNow = (
  ctx: Pick<CliContext, 'call'>,
  run: number,
): Promise<AnswerOf<'GET /admin/nfc/sheets/:run'>> =>
  ctx.call('GET /admin/nfc/sheets/:run', { params: { run } })
