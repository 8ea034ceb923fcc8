import { exitCodes } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'
import { bothForms, colons, uidOnWire } from '../../uid.ts'
import { dryRunLines } from '../answers.ts'
import { isNumber, isStatus, isText, orAbsent, type Result, type Row, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'

interface UndoneRow extends Row {
  readonly uid: string
  /** The batch of the import. */
  readonly batch: string
}

interface UndoneResult extends Result {
  readonly uid: string
}

/** Removes the chips that an import registered, where nothing has happened to them since. */
export const importUndo: RowKind<UndoneRow, UndoneResult, never> = {
  name: 'chips import undo',
  isAdmin: true,
  sheet: { columns: [], required: [], parse: () => ({ row: () => undefined }) },
  isRow: shape<UndoneRow>({ row: isNumber, uid: isText, batch: isText }),
  isResult: shape<UndoneResult>({ row: isNumber, uid: isText, status: isStatus, error: orAbsent(isText) }),
  show: async (ctx, rows) => {
    const shown = dryRunLines(ctx)
    for (const { row, uid } of rows)
      await shown.line({ row, uid, dryRun: true }, () => `row ${row}  ${bothForms(uid)}`)
    shown.end()
    ctx.io.note(`Dry run: up to ${counted(rows.length, 'chip')} would be removed. Nothing was written.`)
    return exitCodes.done
  },
  requests: { rows: 1000, atOnce: 1 },
  // A chip that was removed before a kill is no longer there.
  send: async function* (client, rows) {
    const [{ batch = '' } = {}] = rows
    const body = { batch, uids: rows.map(({ uid }) => uidOnWire(uid)) }
    const answers = await client.call('POST /admin/chips/import/undo', { body })
    for (const [at, { status, error }] of answers.entries()) {
      const { row, uid } = rows[at] ?? {}
      if (row !== undefined && uid !== undefined) yield { row, uid, status, error }
    }
  },
  label: 'Removing',
  countedStatuses: ['removed', 'unchanged', 'failed'],
  describe: ({ row, uid, status, error }) =>
    clean(`row ${row}  ${bothForms(uid)}  ${status}${error === undefined ? '' : `  ${error}`}`),
  about: ({ uid }) => ({ uid }),
  pending: ({ uid }) => `${bothForms(uid)}  `,
  sheetOf: () => ({ heading: ['uid'], cells: ({ uid }) => [colons(uid)] }),
  undo: {
    refusal: 'Chips that were removed cannot be brought back by an undo.',
    advice: () => 'Import their sheet again: tapchip chips import',
  },
}
