import type { CliContext } from '../context.ts'
import { bothForms } from '../uid.ts'
import type { BoxFile } from './box-file.ts'
import { type BoxView, nameOfRow, type SeenBox } from './box-view.ts'
import type { ChipRow, RowsOfChips } from './chip-rows.ts'
import type { InspectedChip, Order, SessionResult } from './forward-apdus.ts'
import { cardTimeoutMs, type OpenedReaders } from './readers.ts'
import type { SessionRunner } from './run-session.ts'
import type { BoxLine } from './saved-box.ts'
import type { Stop } from './stop.ts'

export interface BoxRun {
  readonly opened: OpenedReaders
  readonly runner: SessionRunner
  readonly view: BoxView
  readonly order: Order & { readonly keySet: number }
  readonly count: number
  readonly rows: RowsOfChips
  /** A single chip, whatever happens to it. */
  readonly isSingle: boolean
  /** The reader that was asked for. */
  readonly reader?: string | undefined
  /** `--reader all`. */
  readonly everyReader: boolean
  /** The sheet when this process joined it. */
  readonly sheet?: InspectedChip['sheet'] | undefined
  readonly file: BoxFile | undefined
  readonly id: string | undefined
  readonly stop: Stop
}

const shownPassed = 10

/** Shared by the readers of a box: counts, places, and the end. */
export class Box implements SeenBox {
  readonly ctx: CliContext
  readonly run: BoxRun
  readonly startedAt: number
  provisioned = 0
  unchanged = 0
  failed = 0
  /** Chips that failed and did not come back; those with an unknown UID count one each. */
  readonly unfinished = new Set<string>()
  sheet: InspectedChip['sheet'] | undefined
  /** Rows whose labels were on other chips already. */
  passed = 0
  readonly #ended = new AbortController()
  /** Ends every wait: the box is over, or stopped. */
  readonly ended: AbortSignal
  /** Chips that are being set up, each with a place in the count. */
  #underWay = 0
  #waiting: (() => void)[] = []
  #activeAt: number

  constructor(ctx: CliContext, run: BoxRun) {
    this.ctx = ctx
    this.run = run
    this.sheet = run.sheet
    this.startedAt = ctx.now().getTime()
    this.#activeAt = performance.now()
    this.ended = AbortSignal.any([run.stop.now, this.#ended.signal])
  }

  /** Every chip is done, here or at another station of the sheet. */
  get isDone(): boolean {
    return this.run.rows.done >= this.run.count || this.isSheetUsedUp
  }

  get isSheetUsedUp(): boolean {
    return this.sheet != null && this.sheet.taken >= this.sheet.rows
  }

  get isComplete(): boolean {
    return this.isDone || this.ended.aborted
  }

  /** Ends the waits of all readers. Chips that are being set up are finished. */
  finish(error?: unknown): void {
    this.#ended.abort(error ?? new BoxOver())
    this.#wake()
  }

  /** The error that ended it. */
  get failure(): unknown {
    const { aborted, reason } = this.#ended.signal
    return aborted && !(reason instanceof BoxOver) ? reason : undefined
  }

  /**
   * Reserves a place in the count for the chip on a reader: however many readers there are, no chip too many is set up.
   * @returns false if none is left
   */
  async takePlace(onWait: () => void): Promise<boolean> {
    const { rows, count, isSingle } = this.run
    while (!this.isComplete) {
      if (isSingle || rows.done + this.#underWay < count) {
        this.#underWay += 1
        return true
      }
      onWait()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    return false
  }

  freePlace(): void {
    this.#underWay -= 1
    this.active()
    if (this.isDone) this.finish()
    this.#wake()
  }

  active(): void {
    this.#activeAt = performance.now()
  }

  /** Time that is left to put a chip down, in milliseconds. */
  patience(): number {
    const timeoutMs = cardTimeoutMs(this.ctx)
    return this.#underWay > 0 ? timeoutMs : Math.max(0, this.#activeAt + timeoutMs - performance.now())
  }

  /** Tells of a row that is the chip's that has its label: otherwise nobody would learn that it gets no chip here. */
  pass(row: ChipRow | undefined, chip: { readonly uid: string; readonly chipGroup: string }): void {
    this.passed += 1
    if (row === undefined || this.passed > shownPassed) return
    const more = this.passed === shownPassed ? ' Further rows like this are counted, not listed.' : ''
    this.ctx.io.warn(
      `${nameOfRow(row)}: already on the chip ${bothForms(chip.uid)} in the group ${chip.chipGroup}, so it gets no chip here.${more}`,
    )
  }

  /** Every line is on disk before the next card is touched. */
  write(line: BoxLine): void {
    this.run.file?.write(line)
  }

  /** Records how a chip ended, and prints its line. */
  async record(reader: string, result: SessionResult, row: ChipRow | undefined): Promise<void> {
    const { uid, status, keySet, url, error, warning } = result
    const { rows, order } = this.run
    const isDone = uid !== null && (status === 'provisioned' || status === 'unchanged')
    if (isDone) {
      rows.take(uid, row?.row)
      this[status] += 1
      this.unfinished.delete(uid)
      if (result.sheet) this.sheet = result.sheet
    } else {
      this.failed += 1
      this.unfinished.add(uid ?? `unknown ${this.failed}`)
    }
    const shownRow = isDone && row ? { row: row.row } : {}
    if (uid !== null)
      this.write({ type: 'result', uid, status: isDone ? status : 'failed', ...shownRow, error })
    const line = { uid, status, keySet: keySet ?? order.keySet, url, ...shownRow, reader, error, warning }
    await this.run.view.ended(this, { line, row, isDone })
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}

/** Ends waits where nothing went wrong. */
export class BoxOver extends Error {}
