import { newBatchId } from '../batch/id.ts'
import type { Source } from '../batch/input/source.ts'
import { instanceNow } from '../batch/instance.ts'
import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import { counted } from '../io/text.ts'
import { uidOnWire } from '../uid.ts'
import { type Box, BoxJournal } from './box-journal.ts'
import { runBox } from './box-run.ts'
import { type ChipRow, RowsOfChips } from './chip-rows.ts'
import { withReaders } from './readers.ts'
import type { Order } from './relay.ts'
import { withStop } from './stop.ts'

export interface BoxInput {
  readonly order: Order & { readonly keySet: number }
  readonly reader: string | undefined
  /** undefined: one chip, or as many as there are rows. */
  readonly count: number | undefined
  readonly rows: readonly ChipRow[]
  readonly source: Source | undefined
  /** Text for the journal: how the sheet was read. */
  readonly sheetSettings: Readonly<Record<string, string>>
  readonly resumes: Box | undefined
}

/** Sets up one chip, or a box of them. */
export const provisionBox = (ctx: CliContext, input: BoxInput): Promise<ExitCode> =>
  withStop(ctx, async (stop) => {
    const { order, source, resumes, reader } = input
    const total = input.count ?? Math.max(1, input.rows.length)
    const isSingle = input.count === undefined && source === undefined
    const rows = new RowsOfChips(input.rows)
    if (resumes) await takeUp(ctx, rows, resumes, order)
    if (rows.done >= total) {
      ctx.io.note('Every chip has its end. Nothing to do.')
      return exitCodes.done
    }
    await ctx.beforeWrite()
    const id = isSingle ? undefined : (resumes?.header.id ?? newBatchId(ctx.now()))
    const instance = id === undefined || resumes ? {} : await instanceNow(ctx)
    const journal = id === undefined ? undefined : openJournal(ctx, id, input, { total, ...instance })
    if (id !== undefined) ctx.io.note(`Batch ${id}: ${counted(total - rows.done, 'chip')}`)
    // The emulator has one card, unless there are to be several.
    const fresh = input.count !== undefined || total > 1 ? total - rows.done : undefined
    const hasFile = source !== undefined
    try {
      return await withReaders(ctx, { reader, fresh }, (opened) => {
        const isOnly = isSingle || (opened.isEmulator && fresh === undefined)
        return runBox(ctx, {
          opened,
          order,
          count: total,
          rows,
          hasFile,
          isSingle: isOnly,
          journal,
          id,
          stop,
        })
      })
    } finally {
      journal?.close()
    }
  })

const openJournal = (
  ctx: CliContext,
  id: string,
  { order, count, source, sheetSettings, resumes }: BoxInput,
  { total, ...instance }: { readonly total: number; readonly instance?: string },
): BoxJournal => {
  const journal = new BoxJournal(ctx.at, id)
  const at = ctx.now().toISOString()
  const { pid } = process
  if (resumes) {
    journal.startLine()
    journal.append({ type: 'resumed', at, pid })
    return journal
  }
  const { team, keySet, chipGroup = '', rekey, acceptUrl } = order
  journal.append({
    type: 'batch',
    version: 1,
    id,
    kind: 'nfc provision',
    startedAt: at,
    url: ctx.config().url,
    ...instance,
    pid,
    total,
    input: {
      name: source?.name ?? '',
      path: source?.path ?? null,
      sha256: source?.sha256() ?? null,
    },
    settings: {
      keySet: String(keySet),
      chipGroup,
      ...(team === undefined ? {} : { team }),
      ...(rekey ? { rekey: 'true' } : {}),
      ...(acceptUrl ? { acceptUrl: 'true' } : {}),
      ...(count === undefined ? {} : { count: String(count) }),
      ...sheetSettings,
    },
  })
  return journal
}

/** What an earlier run has done. Of a chip whose end it did not write down the daemon knows. */
const takeUp = async (
  ctx: CliContext,
  rows: RowsOfChips,
  { done, open }: Box,
  { keySet, rekey }: BoxInput['order'],
): Promise<void> => {
  for (const [uid, row] of done) rows.take(uid, row)
  // Whether an earlier chip has new keys already does not show: it is to be laid down again.
  if (rekey) return
  for (const [uid, row] of open) if (await isSetUp(ctx, uid, keySet)) rows.take(uid, row)
}

const isSetUp = async (ctx: CliContext, uid: string, keySet: number): Promise<boolean> => {
  const wire = uidOnWire(uid)
  const plans = await ctx.call('GET /admin/nfc/journal', { query: { uid: wire } })
  if (plans.length > 0) return false
  try {
    return (await ctx.call('GET /admin/chips/:uid', { params: { uid: wire } })).keySet === keySet
  } catch (error) {
    if (error instanceof ApiError && error.statusCode === 404) return false
    throw error
  }
}
