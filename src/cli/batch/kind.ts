import type { Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import type { ExitCode } from '../errors.ts'
import type { SheetFlags } from './input/flags.ts'
import type { Problems } from './input/problems.ts'
import type { Cell } from './input/sheet.ts'
import type { ChipEvent, Counts, Header, Result, Row, Status } from './journal.ts'

export type BatchStatus = 'done' | 'stopped' | 'running'

/** What a journal cannot have been when it was written. */
export interface Damage {
  /** Lines that say nothing, in their order, from 1. One that a kill cut short is none of them. */
  readonly lines: readonly number[]
  /** Rows that the batch had, and that stand nowhere. */
  readonly missingRows: number
}

/** A batch as its journal tells it. */
export interface History<R extends Row = Row, T extends Result = Result> {
  readonly header: Header
  readonly status: BatchStatus
  readonly endedAt: string | undefined
  readonly counts: Counts
  readonly rows: readonly R[]
  /** The last result of each row. */
  readonly results: ReadonlyMap<number, T>
  /** How often a row has failed. */
  readonly failures: ReadonlyMap<number, number>
  /** How often a row was sent, whether or not an answer came. */
  readonly sent: ReadonlyMap<number, number>
  /** Of a box: what happened to its chips, in order. */
  readonly events: readonly ChipEvent[]
  readonly damage: Damage
}

/** A row to which nothing was done, since the chain does not answer, and the words for it. */
export interface RetryLater extends Row {
  readonly retryReason: string
}

/** The columns of a sheet, and how its rows are read. */
export interface SheetSpec<R extends Row, C> {
  readonly columns: readonly string[]
  readonly required: readonly string[]
  readonly anyOf?: readonly string[]
  readonly structured?: ReadonlySet<string>
  /** Begins to read one. @param folder that the sheet is in, for the files that it names */
  parse(ctx: CliContext, problems: Problems, folder: string): SheetReader<R, C>
}

export interface SheetReader<R extends Row, C> {
  /** Names every problem of the row; undefined: there was one. */
  row(row: number, cells: readonly Cell[]): R | undefined
  /** Once all rows are read. @param accepted the person has said that doubtful UIDs are right */
  finish?(accepted: boolean): void
  /** The rows with what the check found; undefined: they want nothing of it. */
  complete?(rows: readonly R[], check: C): readonly R[] | undefined
}

/** How the changes of a batch are taken back, or why they cannot be. */
export type Undo<R extends Row, T extends Result> =
  | { readonly refusal: string; advice?(id: string): string }
  | {
      /** The name of such a batch. */
      readonly name: string
      question(count: number): string
      /** Said where there are no rows to put back. */
      readonly nothing: string
      /** Of a row whose value is the batch's, as far as its journal tells: puts back what was there, if that is known. */
      row(row: R, result: T | undefined): R | undefined
    }

/** What `batch resume` was told. */
export interface ResumeOptions extends SheetFlags {
  readonly retryFailed: boolean
  readonly yes: boolean
  readonly rate: number | undefined
  readonly file: string | undefined
  readonly reader: string | undefined
}

interface AnyKind<R extends Row, T extends Result> {
  readonly name: string
  readonly undo: Undo<R, T>
}

/** A batch whose rows stand in its journal, and are sent some at a time: data and functions, which the engine runs. */
export interface RowKind<R extends Row = Row, T extends Result = Result, C = unknown> extends AnyKind<R, T> {
  /** Where it needs an admin token, and no API key. */
  readonly isAdmin?: boolean
  readonly sheet: SheetSpec<R, C>
  /** Of the lines of a journal. */
  isRow(line: unknown): line is R
  isResult(line: unknown): line is T
  /** What the daemon would say to each row, nothing being written. */
  check?(ctx: CliContext, rows: readonly R[]): Promise<C>
  /** Adds what the daemon found that can never be meant so. Without it a sheet's own problems refuse it unasked. */
  addProblems?(check: C, problems: Problems): void
  /** A dry run: each row, and the sum. Without a check it shows the rows alone. */
  show(ctx: CliContext, rows: readonly R[], check: C | undefined): Promise<ExitCode>
  /** Before a batch begins: warns, refuses, asks. */
  approve?(ctx: CliContext, rows: readonly R[], check: C, yes: boolean): Promise<void>
  /** A row as the journal keeps it, with what was there before. */
  prepare?(row: R, check: C): R
  /** The end of a row that need not be sent. */
  settle?(row: R, check: C): T | undefined
  /** Before a batch goes on. @param open rows that were on their way, and have no result */
  beforeResume?(
    ctx: CliContext,
    rows: readonly R[],
    about: { readonly header: Header; readonly open: number; readonly yes: boolean },
  ): Promise<C>
  /** Rows a request, and how many requests at once. */
  readonly requests: { readonly rows: number; readonly atOnce: number }
  /** Sends rows in one request. A row may be sent again: the key keeps it from having its effect twice. */
  send(client: Client, rows: readonly R[], keyOf: (row: number) => string): AsyncIterable<T | RetryLater>
  /** Over the progress bar. */
  readonly label: string
  /** The ends that its last line counts. */
  readonly countedStatuses: readonly Status[]
  /** What a person may do next, when all is done: in the last line, or as a hint below it. */
  next?(id: string, counts: Counts): string
  hint?(id: string): string
  /** What else is to be said of the results. */
  remark?(results: ReadonlyMap<number, T>): string | undefined
  describe(result: T, row: R): string
  /** Of the row, in a report: for programs, and for people while it has no result. */
  about(row: R): object
  pending(row: R): string
  /** The sheet that holds such rows. */
  sheetOf(
    rows: readonly R[],
    check: C | undefined,
  ): {
    readonly heading: readonly string[]
    cells(row: R): readonly string[]
  }
}

/** A batch that is done in another way than row by row, and goes on in its own. */
export interface WholeKind<T extends Result = Result> extends AnyKind<Row, T> {
  isResult?(line: unknown): line is T
  isEvent?(line: unknown): line is ChipEvent
  /** Where the end line does not count all of it. */
  counts?(events: readonly ChipEvent[]): Counts
  resume(ctx: CliContext, history: History<Row, T>, options: ResumeOptions): Promise<ExitCode>
  report(ctx: CliContext, history: History<Row, T>, failedAlone: boolean): Promise<void>
}

export type Kind = RowKind | WholeKind
