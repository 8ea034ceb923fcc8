import type { AnswerOf } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { clean } from '../io/text.ts'
import { bothForms } from '../uid.ts'
import type { Problems } from './input/problems.ts'
import type { Cell } from './input/sheet.ts'

/*
 * To write a kind of batch for the CLI:
 *
 * 1. Make `kinds/<noun>.ts` with a `SheetKind<R>`; `R` is a row as the sheet's reader makes it. Start from
 *    `kinds/chips-edit.ts`. The daemon has the rest: `src/daemon/domain/batches/kinds/<noun>.ts`.
 * 2. `name` is the daemon's kind, which is the command: `chips edit`. Add it to `sheet-kinds.ts`, so that
 *    `batch report` and `batch undo` find its words. Kinds that an undo makes need words only (`KindWords`).
 * 3. `sheet` names the columns, and reads a row of cells. It adds each problem that it finds to `problems`.
 * 4. `line` makes what is uploaded of a row: what the daemon's `readRow` takes, without `row`.
 * 5. `describe` says how a row would end or ended, from the result alone: whoever reads a report has no sheet. `shown`
 *    says what --json has of it.
 * 6. `question` asks before the start, from the totals of the plan. If `mustConfirm` says so, --yes is needed off a
 *    terminal; by default it is for plans that disable, unlink, remove, or transfer.
 * 7. A kind that refuses a sheet for what the plan found (exit 2) has `planned` in its reader, which adds to `problems`;
 *    with `isCheckedByPlan`, they are named together with those of the sheet. `showCosts` shows what a plan says beside
 *    its totals, and may refuse by an error. `complete` asks the daemon for what rows need before they are uploaded;
 *    `files` are uploaded before the rows that name them.
 * 8. The command has `options: { ...batchFlags, ...runFlags, team, yes }`, and calls
 *    `runSheet(ctx, kind, file, options)`. For chips that flags select, `runRows` takes the rows. Dry run,
 *    plan, question, --failed, --detach, --name, --at, --until, --propose, following and Ctrl-C come with both.
 */

export type Batch = AnswerOf<'GET /batches/:id'>

/** Counted from 1. Each kind adds its own members. */
export interface SheetRow {
  readonly row: number
}

/** A row's end, or what a plan says of it. */
export interface RowResult extends SheetRow {
  readonly status?: string | undefined
  readonly error?: string | undefined
  readonly [member: string]: unknown
}

/** Totals of a plan: rows by status, and the kind's own counts, such as `disables`. */
export type Totals = Readonly<Record<string, number>>

export interface SheetSpec<R extends SheetRow> {
  readonly columns: readonly string[]
  readonly required: readonly string[]
  readonly anyOf?: readonly string[]
  /** Columns whose JSON may be an object or a boolean. */
  readonly structured?: ReadonlySet<string>
  /** Columns that are no mistake, and are not read. */
  readonly alwaysIgnored?: readonly string[]
  /** Columns whose cells name files. */
  readonly files?: ReadonlySet<string>
  /** Problems of the sheet wait for those that the plan finds, so that one answer names all. */
  readonly isCheckedByPlan?: true
  /** @param folder of the sheet, for the files that it names */
  parse(ctx: CliContext, problems: Problems, folder: string): SheetReader<R>
}

/** A file that rows refer to by its hash. */
export interface BatchFile {
  /** SHA-256, in hex. */
  readonly hash: string
  /** Its content type. */
  readonly type: string
  /** Its bytes, which are not kept: a batch may have hundreds of images. */
  read(): Buffer
}

export interface SheetReader<R extends SheetRow> {
  /** Called once, before the first row, with the indexes of our columns that the sheet has. */
  columns?(present: readonly number[]): void
  /** Adds every problem of the row; undefined if there was one. */
  row(row: number, cells: readonly Cell[]): R | undefined
  /** Called after the last row. @param accepted a person confirmed that doubtful UIDs are right */
  finish?(accepted: boolean): void
  /** Called with all rows before they are uploaded: adds what they need of the daemon, and problems that it finds. */
  complete?(rows: readonly R[]): Promise<readonly R[]>
  /** Called after the last row: files that rows refer to, which are uploaded before them. */
  files?(): readonly BatchFile[]
  /** Called with what the plan says of each row, which may be a problem of the sheet: one refuses all of it. */
  planned?(result: RowResult): void
}

/** The messages about a batch of one kind, whoever started it. */
export interface KindMessages {
  /** The daemon's kind: `chips edit`. */
  readonly name: string
  /** Its batches are under /admin. */
  readonly isAdmin?: boolean
  /** Label of the progress bar: `Editing`. */
  readonly label: string
  /** Rows that changed something, in the last line. Default: `12 changed` */
  changed?(count: number): string
  /** A dry run names to people only the rows that would fail: there are many, and they are alike. */
  readonly isQuiet?: boolean
  /** The row in words, beginning with `row 7  `. @param isPlan it has not been done yet */
  describe(result: RowResult, isPlan?: boolean): string
  /** A row in --json. Default: all its fields */
  shown?(result: RowResult, where: 'plan' | 'run' | 'report'): object
  /** A second line at the end, from the number of rows by status. */
  remark?(statuses: ReadonlyMap<string, number>): string | undefined
  /** The next command, after a run in which no row failed. */
  hint?(batch: Batch): string | undefined
  /** It cannot be undone, so the end does not offer it. */
  readonly isFinal?: boolean
  /** The plan's totals in a line: `Plan: 1 to change, 3 unchanged, 0 in conflict, 0 would fail.` */
  planTotals?(totals: Totals): string
  /** The plan is shown before every run, and not only to a person who is asked. */
  readonly isPlanShown?: boolean
  /** Instead of the plan's totals, before a run: `Of 3 chips, 2 would stay as they are.` */
  beforeRun?(totals: Totals): string | undefined
  /** The last line of a dry run. Default: `Dry run: 1 would change, 3 unchanged, 0 would fail. Nothing was written.` */
  dryRun?(totals: Totals): string
  /** Prints the chain costs of a plan. @throws CliError if the batch cannot be paid for */
  showCosts?(ctx: CliContext, costs: object): Promise<void> | void
  /**
   * @param does the totals that nobody should overlook, last: ` (unlinks 5,000, disables 4,998)`
   * @param costs as `showCosts` has them
   */
  question(totals: Totals, does: string, costs?: object): string
  /** Before it is undone: `Restore 3 chips?` */
  undoQuestion?(count: number): string
  /** Off a terminal, it needs --yes. Default: what disables, unlinks, removes, or transfers */
  mustConfirm?(totals: Totals): boolean
}

export interface SheetKind<R extends SheetRow = SheetRow> extends KindMessages {
  readonly sheet: SheetSpec<R>
  /** False: its rows run without a plan, which only a dry run makes. */
  readonly isPlanned?: boolean
  /** The uploaded fields, without `row`. */
  line(row: R): object
  /** The rows for --failed, in our own columns. */
  sheetOf(rows: readonly R[]): {
    readonly heading: readonly string[]
    cells(row: R): readonly string[]
  }
}

/** It did not do what it was to do. */
export const isBad = ({ status }: RowResult): boolean => status === 'failed' || status === 'conflict'

/** `row 7  1293660434600336 (04:…)  failed  The team has no such chip.` */
export const describeRow = ({ row, uid, status, error }: RowResult, ...more: readonly string[]): string => {
  const named = typeof uid === 'string' ? [bothForms(uid)] : []
  const end = [status ?? 'pending', ...more, ...(error === undefined ? [] : [error])]
  return clean([`row ${row}`, ...named, ...end].join('  '))
}
