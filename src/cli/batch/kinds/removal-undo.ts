import type { Client } from '../../client/types.ts'
import { exitCodes } from '../../errors.ts'
import { clean, counted, formatNumber } from '../../io/text.ts'
import { bothForms, colons, uidOnWire } from '../../uid.ts'
import { checkWithDaemon, chunksOf, dryRunLines } from '../answers.ts'
import { isNumber, isStatus, isText, orAbsent, type Result, type Row, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'

interface UndoneRow extends Row {
  readonly uid: string
  /** The batch that is undone. */
  readonly batch: string
  readonly badgeEventId?: number | undefined
}

interface UndoneResult extends Result {
  readonly uid: string
}

type Check = ReadonlyMap<number, UndoneResult>
type Answers = readonly Pick<UndoneResult, 'status' | 'error'>[]

/** The daemon answers each request when all of its rows are done. */
const rowsARequest = 1000

/** Removes what a batch made, where nothing has happened to it since. What was removed before a kill is `unchanged`. */
const removalUndo = (
  about: Pick<RowKind, 'name' | 'label' | 'endpoint'> & {
    readonly isAdmin?: true
    readonly noun: string
    readonly undo: Extract<RowKind['undo'], { refusal: string }>
    ask(client: Client, batch: string, rows: readonly UndoneRow[], dryRun: boolean): Promise<Answers>
  },
): RowKind<UndoneRow, UndoneResult, Check> => {
  async function* send(client: Client, rows: readonly UndoneRow[], dryRun: boolean) {
    const [{ batch = '' } = {}] = rows
    for (const [at, { status, error }] of (await about.ask(client, batch, rows, dryRun)).entries()) {
      const { row, uid } = rows[at] ?? {}
      if (row !== undefined && uid !== undefined) yield { row, uid, status, error }
    }
  }
  const named = ({ uid, badgeEventId }: UndoneRow) =>
    `${bothForms(uid)}${badgeEventId === undefined ? '' : `  event ${badgeEventId}`}`
  const describe = ({ row, status, error }: UndoneResult, undone: UndoneRow) =>
    clean(`row ${row}  ${named(undone)}  ${status}${error === undefined ? '' : `  ${error}`}`)
  return {
    name: about.name,
    ...(about.isAdmin ? { isAdmin: true } : {}),
    sheet: { columns: [], required: [], parse: () => ({ row: () => undefined }) },
    isRow: shape<UndoneRow>({ row: isNumber, uid: isText, batch: isText, badgeEventId: orAbsent(isNumber) }),
    isResult: shape<UndoneResult>({ row: isNumber, uid: isText, status: isStatus, error: orAbsent(isText) }),
    check: (ctx, rows) =>
      checkWithDaemon(ctx, 'written', async (signal) => {
        const client = await ctx.client()
        const results = new Map<number, UndoneResult>()
        for (const chunk of chunksOf(rows, rowsARequest)) {
          if (signal.aborted) break
          for await (const result of send(client, chunk, true)) results.set(result.row, result)
        }
        return results
      }),
    show: async (ctx, rows, check = new Map()) => {
      const shown = dryRunLines(ctx)
      const count = { removed: 0, unchanged: 0, failed: 0 }
      for (const row of rows) {
        const result = check.get(row.row)
        if (result === undefined) continue
        const { status, error } = result
        if (status in count) count[status as keyof typeof count] += 1
        const { uid, badgeEventId } = row
        const line = { row: row.row, uid, badgeEventId, status, error, dryRun: true }
        await shown.line(line, () => describe(result, row))
      }
      shown.end()
      ctx.io.note(
        `Dry run: ${counted(count.removed, about.noun)} would be removed, ${formatNumber(count.unchanged)} unchanged, ${formatNumber(count.failed)} would fail. Nothing was written.`,
      )
      return count.failed > 0 ? exitCodes.partial : exitCodes.done
    },
    foreseen: ({ row }, check) => check.get(row),
    requests: { rows: rowsARequest, atOnce: 1, isOrdered: true },
    endpoint: about.endpoint,
    send: (client, rows) => send(client, rows, false),
    label: about.label,
    countedStatuses: ['removed', 'unchanged', 'failed'],
    describe,
    about: ({ uid, badgeEventId }) => ({ uid, badgeEventId }),
    pending: (row) => `${named(row)}  `,
    sheetOf: () => ({ heading: ['uid'], cells: ({ uid }) => [colons(uid)] }),
    undo: about.undo,
  }
}

export const importUndo = removalUndo({
  name: 'chips import undo',
  isAdmin: true,
  noun: 'chip',
  label: 'Removing',
  endpoint: 'POST /admin/chips/import/undo',
  ask: (client, batch, rows, dryRun) => {
    const body = { batch, uids: rows.map(({ uid }) => uidOnWire(uid)) }
    return client.call('POST /admin/chips/import/undo', { body, query: { dryRun } })
  },
  undo: {
    refusal: 'Chips that were removed cannot be brought back by an undo.',
    advice: () => 'Import their sheet again: tapchip chips import',
  },
})

export const assignmentUndo = removalUndo({
  name: 'badge-events assign undo',
  noun: 'assignment',
  label: 'Unassigning',
  endpoint: 'POST /badge-events/assign/undo',
  ask: (client, batch, rows, dryRun) => {
    const assignments = rows.map(({ uid, badgeEventId = 0 }) => ({
      tagUID: uidOnWire(uid),
      poapEventId: badgeEventId,
    }))
    return client.call('POST /badge-events/assign/undo', { body: { batch, assignments }, query: { dryRun } })
  },
  undo: {
    refusal: 'Assignments that were removed cannot be brought back by an undo.',
    advice: () => 'Assign their sheet again: tapchip badge-events assign --file',
  },
})
