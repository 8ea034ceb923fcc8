import type { Client, EndpointKey } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import type { ExitCode } from '../errors.ts'
import type { SheetFlags } from './input/flags.ts'
import type { Problems } from './input/problems.ts'
import type { Cell } from './input/sheet.ts'
import type { Counts, Header, Outcome, Result, Row, Status } from './journal.ts'

export type BatchStatus = 'done' | 'stopped' | 'running'

export interface Damage {
  /** Numbers of invalid lines, from 1. A line that a kill cut short is valid. */
  readonly lines: readonly number[]
  /** Rows of the batch that the journal does not contain. */
  readonly missingRows: number
}

/** A batch as read from its journal. */
export interface History<R extends Row = Row, T extends Result = Result> {
  readonly header: Header
  readonly status: BatchStatus
  readonly endedAt: string | undefined
  readonly auditHead: string | undefined
  readonly counts: Counts
  readonly rows: readonly R[]
  readonly results: ReadonlyMap<number, T>
  readonly failures: ReadonlyMap<number, number>
  readonly sent: ReadonlyMap<number, number>
  readonly damage: Damage
  /** It was last run with this journal, not with one of which this is a copy. */
  readonly isOwn: boolean
  /** Whether it ended in order: then every row that was sent has its result. */
  readonly hasEnd: boolean
  /** The daemon's copy, once it was asked. */
  readonly copy?: Copy | undefined
}

/** The journal of a batch as the daemon keeps it. */
export interface Copy {
  /** Of the process that ran it last. */
  readonly lease: number
  readonly host: string
  readonly state: BatchStatus
}

/** A row that was not processed because the chain did not answer, and the daemon's message. */
export interface RetryLater extends Row {
  readonly retryReason: string
}

export interface SheetSpec<R extends Row, C> {
  readonly columns: readonly string[]
  readonly required: readonly string[]
  readonly anyOf?: readonly string[]
  readonly structured?: ReadonlySet<string>
  /** Columns that are no mistake, and are not read. */
  readonly alwaysIgnored?: readonly string[]
  /** Columns whose cells name files. */
  readonly files?: ReadonlySet<string>
  /** @param folder of the sheet, for the files that it names */
  parse(ctx: CliContext, problems: Problems, folder: string): SheetReader<R, C>
}

export interface SheetReader<R extends Row, C> {
  /** Adds every problem of the row; undefined if there was one. */
  row(row: number, cells: readonly Cell[]): R | undefined
  /** Called after the last row. @param accepted a person confirmed that doubtful UIDs are right */
  finish?(accepted: boolean): void
  /** The rows with values that the check found; undefined if they need none. */
  complete?(rows: readonly R[], check: C): readonly R[] | undefined
}

export type Undo<R extends Row, T extends Result> =
  | { readonly refusal: string; advice?(id: string): string }
  | {
      readonly name: string
      question(count: number): string
      readonly nothing: string
      /**
       * A row that restores the previous value, if the journal knows it; undefined otherwise. @param id of the batch that
       * is undone
       */
      row(row: R, result: T | undefined, id: string): Row | undefined
      /** The kind of that row, if it is another one. */
      readonly as?: RowKind
    }

export interface ResumeOptions extends SheetFlags {
  readonly retryFailed: boolean
  readonly yes: boolean
  readonly rate: number | undefined
  readonly concurrency: number | undefined
  readonly file: string | undefined
  readonly reader: string | undefined
  readonly takeOver: boolean
}

export interface RowKind<R extends Row = Row, T extends Result = Result, C = unknown> {
  readonly name: string
  readonly undo: Undo<R, T>
  /** It needs an admin token, and no API key. */
  readonly isAdmin?: boolean
  readonly sheet: SheetSpec<R, C>
  /** Validates a line of a journal. */
  isRow(line: unknown): line is R
  isResult(line: unknown): line is T
  /** Asks the daemon what it would do with each row, without writing. */
  check?(ctx: CliContext, rows: readonly R[]): Promise<C>
  /** Adds problems that the daemon found. Without this, problems of the sheet refuse it without asking the daemon. */
  addProblems?(check: C, problems: Problems): void
  show(ctx: CliContext, rows: readonly R[], check: C | undefined): Promise<ExitCode>
  approve?(ctx: CliContext, rows: readonly R[], check: C, yes: boolean): Promise<void>
  /** The row as the journal keeps it, with its previous value. */
  prepare?(row: R, check: C): R
  /** The row as it is sent, if it can do without what only the journal keeps. By default, it is sent as prepared. */
  sent?(prepared: R, before: R): R
  settle?(row: R, check: C): T | undefined
  /** What the check found that the row would do. */
  foreseen?(row: R, check: C): { readonly status: Status | 'invalid' } | undefined
  beforeResume?(
    ctx: CliContext,
    rows: readonly R[],
    about: { readonly header: Header; readonly open: number; readonly yes: boolean },
  ): Promise<C>
  /** Rows per request, and concurrent requests. */
  readonly requests: {
    readonly rows: number
    readonly atOnce: number
    /** A row may need what a row before it does: no more requests at once than that. */
    readonly isOrdered?: true
  }
  /** Where `send` sends them, which a dry run tells. */
  readonly endpoint: EndpointKey
  /** Sends rows in one request. A row may be sent again: its idempotency key keeps it from taking effect twice. */
  send(client: Client, rows: readonly R[], keyOf: (row: number) => string): AsyncIterable<T | RetryLater>
  readonly label: string
  /** The statuses that the last line counts. */
  readonly countedStatuses: readonly Status[]
  /** The next step after a complete run: in the last line, or as a hint below it. */
  next?(id: string, counts: Counts, outcomes: Iterable<Outcome>): string
  hint?(id: string): string
  remark?(outcomes: Iterable<Outcome>): string | undefined
  describe(result: T, row: R): string
  /** The row in a report: for programs, and for people while it has no result. */
  about(row: R): object
  pending(row: R): string
  sheetOf(
    rows: readonly R[],
    check: C | undefined,
  ): {
    readonly heading: readonly string[]
    cells(row: R): readonly string[]
  }
}

export type Kind = RowKind
