import type { RowStatus } from '../../../values/batch-state.ts'
import type { KeyedMutex } from '../../../values/keyed-mutex.ts'
import type { Scope } from '../../../values/scopes.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import type { Badges } from '../badge-events/service.ts'
import type { Idempotency } from '../chain/transactions.ts'
import type { RegisterDeps } from '../chips/register-chips.ts'
import type { TransferDeps } from '../phygitals/target.ts'

/** What kinds need of the daemon. A function of a kind asks for the narrowest part. */
export type BatchDeps = RegisterDeps &
  TransferDeps & {
    readonly box: SecretBox
    readonly badges: Badges
    readonly idempotency: Idempotency
    readonly marketplace: object | undefined
    /** Identifies this installation. */
    readonly instance: string
    /** In the URLs that the daemon issues; final once it listens. */
    readonly baseUrl: string
    /** Chips without a token take their IDs one at a time. */
    readonly minting: KeyedMutex
    /** Wei per gas; the relayer's maximum on a chain. */
    feeCap(chainId: number): bigint | undefined
  }

/** What holds for all rows of a batch: `{ "chipGroup": "Jackets", "keySet": 101 }`. */
export type Settings = Readonly<Record<string, unknown>>

/** A batch as its kind sees it. */
export interface BatchRun {
  readonly id: string
  /** The command: `chips edit`. */
  readonly kind: string
  readonly teamId: number
  /** Whoever began it, with the batch. */
  readonly actor: Actor
  /** What its rows may do. */
  readonly scopes: readonly Scope[]
  readonly settings: Settings
  /** 1, and one more for each retry of failed rows. */
  readonly pass: number
}

/** Rows are counted from 1, as in the sheet; a batch may leave some out. */
export interface NumberedRow {
  readonly row: number
}

/** How a row ended, or would end. Kinds add their own members, which reports show. */
export interface RowResult extends NumberedRow {
  readonly status: RowStatus
  readonly error?: string | undefined
}

/** A row that was not handled because something it needs does not answer: it is tried again later. */
export interface RetryLater extends NumberedRow {
  readonly retryReason: string
}

export interface PlannedRow<R extends NumberedRow, T extends RowResult> {
  readonly row: R
  /** undefined if the batch runs without a plan, or the row is retried. */
  readonly planned: T | undefined
}

type Undo<R extends NumberedRow, T extends RowResult> =
  /** Why not, and what to do instead, where `BATCH` stands for the batch's ID. */
  | { readonly refusal: string; readonly advice?: string }
  | {
      /** The kind of the batch that takes it back, and what holds for its rows. */
      readonly kind: string
      settings?(run: BatchRun): Settings
      /**
       * The line of that batch, as if it was uploaded; it must leave alone what somebody changed since. undefined if
       * there is nothing to take back.
       */
      row(row: R, result: T): object | undefined
    }

interface AnyKind<R extends NumberedRow, T extends RowResult> {
  /** The commands whose batches are of this kind: `chips apply`, `chips edit`, … */
  readonly names: readonly string[]
  /** Takes an admin token, and no API key. */
  readonly isAdmin: boolean
  /** Whoever begins, resumes, or undoes it needs this. */
  readonly scope: Scope
  /** Its rows refer to images, which are uploaded to the batch. */
  readonly hasFiles?: true
  /** Checks a line as it was uploaded. */
  readRow(line: unknown, run: Pick<BatchRun, 'kind' | 'settings'>): { value: R } | { problem: string }
  /** What the rows of each upload are kept in the order of: that of the table which they go to, where that is faster. */
  order?(row: R): string
  /** Checks what holds for all rows, when the batch is created. @throws DomainError */
  checkSettings?(deps: BatchDeps, run: Omit<BatchRun, 'id' | 'pass'>): Promise<void>
  /**
   * What the rows would do now, one result per row in order; writes nothing. The rows are those of one piece, up to 500.
   * @param seen what earlier pieces of this plan named, to find rows that meet
   */
  plan(deps: BatchDeps, run: BatchRun, rows: readonly R[], seen: Map<string, number>): Promise<T[]>
  /** Totals beside the counts by status, from the results of a piece: `{ disables: 3 }`. They are added up. */
  totals?(rows: readonly R[], results: readonly T[]): Readonly<Record<string, number>>
  /** What a plan says at its end beside totals: what the chain would charge. The results come piece by piece. */
  costs?(deps: BatchDeps, run: BatchRun, pieces: AsyncIterable<readonly T[]>): Promise<object | undefined>
  /** Absent: it cannot be planned without doing it, and a plan repeats its rows. */
  readonly undo: Undo<R, T>
}

/** Rows that are written to the database: their effects and their results are one transaction. */
export interface WrittenKind<R extends NumberedRow = NumberedRow, T extends RowResult = RowResult>
  extends AnyKind<R, T> {
  readonly how: 'written'
  /** Rows that a transaction takes at most; the piece is cut so that it holds up taps for a few milliseconds. */
  readonly rowsPerWrite: { readonly min: number; readonly max: number }
  /** A write takes rows of one piece alone, whose text is bounded. */
  readonly staysInPiece?: true
  /**
   * Applies rows in the transaction of their results; one result per row, in order. A row whose `planned` says what it
   * saw, and that is no longer so, is a `conflict` and is left alone; one that was planned to fail is not tried.
   */
  write(trx: Queries, deps: BatchDeps, run: BatchRun, rows: readonly PlannedRow<R, T>[]): Promise<T[]>
  /** Called after each transaction: wakes whoever goes on from it. */
  written?(deps: BatchDeps, results: readonly T[]): void
}

/** Rows that end outside of the database, on a chain or at a provider. */
export interface SentKind<R extends NumberedRow = NumberedRow, T extends RowResult = RowResult>
  extends AnyKind<R, T> {
  readonly how: 'sent'
  /** Rows under way at once. */
  readonly concurrency: number
  /**
   * Sends one row. It may be called again for the same row after a kill: the key makes it the same request.
   * @param key names this attempt of the row for ever
   */
  send(deps: BatchDeps, run: BatchRun, row: PlannedRow<R, T>, key: string): Promise<T | RetryLater>
}

/** Rows of a kind are read by its own `readRow` alone, so its narrower types are safe. */
export type BatchKind = WrittenKind | SentKind
