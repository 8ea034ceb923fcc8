import type { RowStatus } from '../../../values/batch.ts'
import type { Scope } from '../../../values/scopes.ts'
import type { KeyedMutex } from '../../../values/semaphore.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import type { Badges } from '../badge-events/service.ts'
import type { Idempotency } from '../chain/transactions.ts'
import type { RegisterDeps } from '../chips/register-chips.ts'
import type { TransferDeps } from '../phygitals/target.ts'

/** Services for kinds. Their functions ask for the narrowest part. */
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
    /** Chips without a token get their IDs one at a time. */
    readonly minting: KeyedMutex
    /** In wei per gas: the relayer's maximum on a chain. */
    feeCap(chainId: number): bigint | undefined
  }

/** Settings for all rows of a batch: `{ "chipGroup": "Jackets", "keySet": 101 }`. */
export type Settings = Readonly<Record<string, unknown>>

/** A batch as seen by its kind. */
export interface BatchRun {
  readonly id: string
  /** The command: `chips edit`. */
  readonly kind: string
  readonly teamId: number
  /** Who began the batch. */
  readonly actor: Actor
  /** The scopes of its rows. */
  readonly scopes: readonly Scope[]
  readonly settings: Settings
  /** 1, plus one for each retry of failed rows. */
  readonly pass: number
}

/** Row numbers start at 1, as in the sheet; a batch may omit some. */
export interface NumberedRow {
  readonly row: number
}

/** A row's actual or planned result. Kinds add their own members, which reports show. */
export interface RowResult extends NumberedRow {
  readonly status: RowStatus
  readonly error?: string | undefined
}

/** A row that was postponed because a required service does not answer. It is retried. */
export interface RetryLater extends NumberedRow {
  readonly retryReason: string
}

export interface PlannedRow<R extends NumberedRow, T extends RowResult> {
  readonly row: R
  /** undefined if the batch runs without a plan, or the row is retried. */
  readonly planned: T | undefined
}

type Undo<R extends NumberedRow, T extends RowResult> =
  /** Why it cannot be undone, and what to do instead; `BATCH` is replaced by the batch's ID. */
  | { readonly refusal: string; readonly advice?: string }
  | {
      /** The kind of the undo batch, and the settings for its rows. */
      readonly kind: string
      settings?(run: BatchRun): Settings
      /**
       * A row of the undo batch, as if uploaded. It must leave alone what somebody has changed since. Undefined:
       * there is nothing to undo.
       */
      row(row: R, result: T): object | undefined
    }

interface AnyKind<R extends NumberedRow, T extends RowResult> {
  /** The commands that create batches of this kind: `chips apply`, `chips edit`, … */
  readonly names: readonly string[]
  /** Its batches are under /admin. */
  readonly isAdmin: boolean
  /** The scope required to begin, resume, or undo it. */
  readonly scope: Scope
  /** Rows refer to images, which are uploaded to the batch. */
  readonly hasFiles?: true
  /** Checks an uploaded line. */
  readRow(line: unknown, run: Pick<BatchRun, 'kind' | 'settings'>): { value: R } | { problem: string }
  /** The sort order of each upload's rows: that of the table they are written to, if that is faster. */
  order?(row: R): string
  /** Checks the settings for all rows when the batch is created. @throws DomainError */
  checkSettings?(deps: BatchDeps, run: Omit<BatchRun, 'id' | 'pass'>): Promise<void>
  /**
   * Plans up to 500 rows of one piece without writing: one result per row, in order.
   * @param seen names used in earlier pieces of this plan, to find rows that conflict
   */
  plan(deps: BatchDeps, run: BatchRun, rows: readonly R[], seen: Map<string, number>): Promise<T[]>
  /** Totals of a piece besides the counts by status: `{ disables: 3 }`. They are added up. */
  totals?(rows: readonly R[], results: readonly T[]): Readonly<Record<string, number>>
  /** Additional totals at the end of a plan, such as the cost on a chain. Receives the results piece by piece. */
  costs?(deps: BatchDeps, run: BatchRun, pieces: AsyncIterable<readonly T[]>): Promise<object | undefined>
  /** Absent: rows cannot be planned without executing them, so a plan only repeats them. */
  readonly undo: Undo<R, T>
}

/** For rows written to the database: their effects and results share a transaction. */
export interface WrittenKind<R extends NumberedRow = NumberedRow, T extends RowResult = RowResult>
  extends AnyKind<R, T> {
  readonly how: 'written'
  /** Maximum rows per transaction; pieces are cut so that taps are delayed by only a few milliseconds. */
  readonly rowsPerWrite: { readonly min: number; readonly max: number }
  /** A write takes rows of a single piece, whose size is bounded. */
  readonly staysInPiece?: true
  /**
   * Applies rows in the transaction of their results; one result per row, in order. A row whose planned state has
   * changed is a `conflict` and is left alone; a row that was planned to fail is not tried.
   */
  write(trx: Queries, deps: BatchDeps, run: BatchRun, rows: readonly PlannedRow<R, T>[]): Promise<T[]>
  /** Called after each transaction, to wake whoever continues from it. */
  written?(deps: BatchDeps, results: readonly T[]): void
}

/** For rows whose effect is outside the database, on a chain or at a provider. */
export interface SentKind<R extends NumberedRow = NumberedRow, T extends RowResult = RowResult>
  extends AnyKind<R, T> {
  readonly how: 'sent'
  /** Maximum concurrent rows. */
  readonly concurrency: number
  /**
   * Records rows whose effects share transactions. `send` is then called for them, too, and finds what it recorded by
   * their keys.
   * @returns by key, what is known of the recorded rows; others are sent alone
   */
  sendTogether?(
    deps: BatchDeps,
    run: BatchRun,
    rows: readonly (PlannedRow<R, T> & { readonly key: string })[],
  ): Promise<ReadonlyMap<string, T>>
  /**
   * Sends one row. It may be called again for the same row after a kill: the key makes it the same request.
   * @param key permanent identifier of this attempt at the row
   * @param known from `sendTogether`
   */
  send(deps: BatchDeps, run: BatchRun, row: PlannedRow<R, T>, key: string, known?: T): Promise<T | RetryLater>
}

/** Only a kind's own `readRow` makes its rows, so its narrower types are safe. */
export type BatchKind = WrittenKind | SentKind
