import type { CliContext } from '../context.ts'
import { counted, formatNumber, shellQuoted } from '../io/text.ts'
import { bothForms } from '../uid.ts'
import type { ChipRow, RowsOfChips } from './chip-rows.ts'
import type { InspectedChip, SessionResult } from './forward-apdus.ts'

/** A box as views read it. */
export interface SeenBox {
  readonly startedAt: number
  readonly provisioned: number
  readonly unchanged: number
  readonly failed: number
  /** Rows whose labels were on other chips already. */
  readonly passed: number
  /** Rows of a sheet that stations share, as the daemon counts them. */
  readonly sheet: InspectedChip['sheet'] | undefined
  readonly run: {
    readonly rows: RowsOfChips
    readonly count: number
    readonly isSingle: boolean
    readonly everyReader: boolean
    readonly reader?: string | undefined
  }
}

/** A chip that ended, well or not. */
export interface EndedChip {
  /** Output for scripts. */
  readonly line: Pick<SessionResult, 'uid' | 'status' | 'url' | 'error' | 'warning'> & {
    readonly keySet: number
    readonly row?: number
    readonly reader: string
  }
  /** The row that it got, or was to get. */
  readonly row: ChipRow | undefined
  readonly isDone: boolean
}

/** A box as a person sees it. Calls come in the order in which things happen. */
export interface BoxView {
  /** A reader waits for a chip. */
  /** @param after undefined: it is the first; torn: the last one was lifted too early */
  ready(box: SeenBox, reader: string | undefined, after: After): void
  /** A chip lies there. @param chip once it is known */
  working(
    box: SeenBox,
    reader: string,
    chip?: { readonly uid: string; readonly row: ChipRow | undefined },
  ): void
  /** A chip waits for others. */
  waiting(box: SeenBox, reader: string, why: string): void
  /** Resolves once its line has left. */
  ended(box: SeenBox, chip: EndedChip): Promise<void>
  /** It may be taken off now. */
  lift(box: SeenBox, reader: string): void
  /** The reader was pulled. */
  gone(box: SeenBox, reader: string): void
  /** Nothing more happens at the readers: sums and the next command follow. */
  close(): void
}

export type After = 'torn' | 'chip' | undefined

export const nameOfRow = ({ row, label }: ChipRow): string =>
  label === undefined ? `row ${row}` : `row ${row} (${label})`

/** Lines on the terminal, or for scripts. */
export const lines = (ctx: CliContext): BoxView => {
  const { io } = ctx
  const at = (box: SeenBox, reader: string): string => (box.run.everyReader ? `${reader}: ` : '')
  const waits = new Map<string, string>()
  return {
    ready: (box, reader, after) => {
      const { rows, count, isSingle, everyReader } = box.run
      if (isSingle) return
      if (everyReader) {
        if (after === undefined) io.hint(`Put chips on the reader ${reader}.`)
        return
      }
      const what = { torn: 'that chip or the next one', chip: 'the next one' }[after ?? 'chip']
      io.hint(
        `Chip ${formatNumber(rows.done + 1)} of ${formatNumber(count)}: put ${after ? what : 'it'} on the reader`,
      )
    },
    working: (_, reader) => {
      waits.delete(reader)
    },
    waiting: (box, reader, why) => {
      if (waits.get(reader) === why) return
      waits.set(reader, why)
      io.hint(`${at(box, reader)}${why}`)
    },
    ended: async (box, { line, row, isDone }) => {
      const { isSingle } = box.run
      await io.line(line, () => {
        const about = isDone && row ? `  ${nameOfRow(row)}` : ''
        const place = isSingle ? '' : `  ${doneOf(box)}`
        const chip = line.uid === null ? 'unknown chip' : bothForms(line.uid)
        return `${at(box, line.reader)}${chip}  ${line.status}${about}${place}`
      })
      // The line must not be overtaken by what is said next on stderr.
      await io.flush()
      if (line.error !== undefined && !io.json) io.warn(`${at(box, line.reader)}${line.error}`)
      if (line.warning !== undefined && !io.json) io.warn(`${at(box, line.reader)}${line.warning}`)
      const { reader } = box.run
      const choice = reader === undefined ? '' : ` --reader ${shellQuoted(reader)}`
      if (isSingle && isDone) io.hint(`Check its tap: tapchip nfc verify${choice}`)
      if (!isSingle && ctx.system.stderr.isTTY && !ctx.flags.quiet)
        ctx.system.stderr.write(isDone ? '\x07' : '\x07\x07')
    },
    lift: (box, reader) => io.hint(`${at(box, reader)}Remove it from the reader.`),
    close: () => undefined,
    gone: (_, reader) => io.note(`The reader ${reader} is disconnected. Put its chip on another one.`),
  }
}

export const doneOf = ({ sheet, run: { rows, count } }: SeenBox): string =>
  `${formatNumber(sheet?.taken ?? rows.done)} of ${formatNumber(sheet?.rows ?? count)}`

export const summarise = (ctx: CliContext, box: SeenBox): void => {
  const { provisioned, unchanged, failed } = box
  const { rows, count } = box.run
  const ms = ctx.now().getTime() - box.startedAt
  const rate = Math.round(((provisioned + unchanged) * 60_000) / Math.max(1, ms))
  const elsewhere = (box.sheet?.taken ?? 0) - rows.done - box.passed
  const others =
    (elsewhere > 0 ? `, ${formatNumber(elsewhere)} elsewhere` : '') +
    (box.passed > 0 ? `, ${counted(box.passed, 'row')} with a label that another chip has` : '')
  ctx.io.note(
    `${counted(rows.done, 'chip')} of ${formatNumber(count)} done: ${formatNumber(provisioned)} provisioned, ` +
      `${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} failed${others} (${formatNumber(rate)} a minute)`,
  )
}
