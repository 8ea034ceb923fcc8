import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { Io } from '../io/io.ts'
import { formatNumber, hasUnicode } from '../io/text.ts'
import { isCi } from '../system.ts'
import { colons } from '../uid.ts'
import { drawScreen, type Panel, type PanelState } from './board-screen.ts'
import { type After, type BoxView, doneOf, nameOfRow, type SeenBox } from './box-view.ts'
import type { ChipRow } from './chip-rows.ts'

/** The alternate screen, without a cursor. */
const [enter, leave] = ['\x1b[?1049h\x1b[?25l\x1b[2J', '\x1b[?25h\x1b[?1049l']
const home = '\x1b[H'

/** Messages that are printed again after the board has gone, the latest. */
const maxKept = 50
/** The rate of a shift is that of its last chips. */
const ratedChips = 20
const redrawMs = 1_000

/**
 * Runs a box with a board that fills the terminal in place of its lines. Messages stand on the board while it is up, and
 * are printed once it is gone. @throws UsageError where there is no terminal
 */
export const withBoard = async <T>(
  ctx: CliContext,
  run: (ctx: CliContext, view: BoxView) => Promise<T>,
): Promise<T> => {
  const { system, io } = ctx
  if (system.stderr.isTTY !== true || system.env.TERM === 'dumb' || isCi(system))
    throw new UsageError('--board needs a terminal to fill.', 'Leave it out: each chip is a line then.')
  if (io.json && system.stdout.isTTY === true)
    throw new UsageError(
      '--board and --json cannot share a terminal.',
      'Write the lines to a file: --json > chips.jsonl',
    )
  const board = new Board(ctx)
  const inner: CliContext = Object.defineProperty(Object.create(ctx), 'io', { value: board.io })
  const unlisten = system.atExit(() => board.close())
  try {
    return await run(inner, board)
  } finally {
    board.close()
    unlisten()
  }
}

class Board implements BoxView {
  readonly io: Io
  readonly #ctx: CliContext
  readonly #panels = new Map<string, Panel>()
  /** When the last chips were done. */
  #doneAt: number[] = []
  #box: SeenBox | undefined
  #message = ''
  #kept: { readonly say: 'note' | 'warn'; readonly message: string }[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(ctx: CliContext) {
    this.#ctx = ctx
    const { io } = ctx
    const onBoard = (message: string): void => {
      this.#message = message
      this.#draw()
    }
    const keep = (say: 'note' | 'warn', message: string): void => {
      if (this.#isUp) {
        this.#keep(say, message)
        onBoard(message)
      } else io[say](message)
    }
    this.io = {
      ...io,
      note: (message) => keep('note', message),
      warn: (message) => keep('warn', message),
      hint: (message) => (this.#isUp ? onBoard(message) : io.hint(message)),
    }
  }

  ready(box: SeenBox, reader: string | undefined, after: After): void {
    const name = reader ?? this.#onlyReader()
    // A failure stands there until the next chip does: it may have to be the same.
    if (this.#panels.get(name)?.state === 'FAILED') return
    const text = after === undefined ? 'Put a chip on the reader' : 'Put the next chip on the reader'
    // Without a name, the chip that is put down tells which reader it is.
    this.#set(box, name, 'READY', { chip: '', text })
  }

  working(
    box: SeenBox,
    reader: string,
    chip?: { readonly uid: string; readonly row: ChipRow | undefined },
  ): void {
    const name = chip === undefined ? '' : nameOf(chip.row) || colons(chip.uid)
    this.#set(box, reader, 'HOLD', { chip: name, text: 'Leave it there' })
  }

  waiting(box: SeenBox, reader: string, why: string): void {
    this.#set(box, reader, 'WAIT', { chip: this.#panels.get(reader)?.chip ?? '', text: why })
  }

  async ended(box: SeenBox, { line, row, isDone }: Parameters<BoxView['ended']>[1]): Promise<void> {
    const { io, system, now } = this.#ctx
    if (isDone) this.#doneAt = [...this.#doneAt, now().getTime()].slice(-ratedChips)
    // The row of a chip that failed goes to another one.
    const chip = (isDone && nameOf(row)) || (line.uid === null ? '' : colons(line.uid))
    const text = isDone ? 'Take it off' : (line.error ?? 'Take it off')
    if (!isDone) this.#keep('warn', `${chip || 'unknown chip'}: ${text}`)
    this.#set(box, line.reader, isDone ? 'DONE' : 'FAILED', { chip, text })
    system.stderr.write(isDone ? '\x07' : '\x07\x07')
    if (system.stdout.isTTY !== true) await io.line(line, () => `${chip}  ${line.status}`)
  }

  lift(box: SeenBox): void {
    this.#box = box
    this.#draw()
  }

  gone(box: SeenBox, reader: string): void {
    this.#set(box, reader, 'GONE', {
      chip: '',
      text: 'Not connected',
    })
  }

  /** Gives the terminal back, and prints what was said meanwhile. */
  close(): void {
    if (!this.#isUp) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#ctx.system.stderr.write(leave)
    for (const { say, message } of this.#kept) this.#ctx.io[say](message)
    // They still lie there, and somebody is about to label them.
    for (const { reader, state, chip } of this.#panels.values())
      if (state === 'DONE') this.#ctx.io.note(`${reader}: ${chip}  done`)
    this.#kept = []
  }

  #keep(say: 'note' | 'warn', message: string): void {
    this.#kept = [...this.#kept, { say, message }].slice(-maxKept)
  }

  get #isUp(): boolean {
    return this.#timer !== undefined
  }

  #onlyReader(): string {
    return [...this.#panels.keys()][0] ?? ''
  }

  #set(box: SeenBox, reader: string, state: PanelState, about: Pick<Panel, 'chip' | 'text'>): void {
    this.#box = box
    // The panel that stood for whichever reader gets a chip.
    if (reader !== '') this.#panels.delete('')
    this.#panels.set(reader, { reader, state, ...about })
    if (!this.#isUp) {
      this.#ctx.system.stderr.write(enter)
      this.#timer = setInterval(() => this.#draw(), redrawMs).unref()
    }
    this.#draw()
  }

  #draw(): void {
    const { system, flags } = this.#ctx
    const { stderr, env } = system
    if (!this.#isUp || this.#box === undefined) return
    const terminal = {
      width: stderr.columns || 80,
      height: stderr.rows || 24,
      color: flags.color && !env.NO_COLOR,
      unicode: hasUnicode(env),
    }
    const panels = [...this.#panels.values()].sort((a, b) => (a.reader < b.reader ? -1 : 1))
    const screen = {
      panels,
      count: doneOf(this.#box).replace(' of ', '/'),
      totals: this.#totals(this.#box),
      message: this.#message,
    }
    stderr.write(`${home}${drawScreen(screen, terminal).join('\x1b[K\r\n')}\x1b[K`)
  }

  #totals({ provisioned, unchanged, failed, sheet, run }: SeenBox): string {
    const remaining = sheet ? sheet.rows - sheet.taken : run.count - run.rows.done
    const parts = [
      `${formatNumber(provisioned)} provisioned`,
      ...(unchanged > 0 ? [`${formatNumber(unchanged)} unchanged`] : []),
      `${formatNumber(failed)} failed`,
      `${formatNumber(remaining)} left`,
    ]
    const rate = this.#rate()
    if (rate === undefined) return parts.join(' · ')
    const minutes = Math.ceil(remaining / rate)
    return [
      ...parts,
      `${rate.toFixed(rate < 10 ? 1 : 0)} a minute`,
      `about ${formatNumber(minutes)} min to go`,
    ].join(' · ')
  }

  /** Chips a minute. */
  #rate(): number | undefined {
    const [first] = this.#doneAt
    const minutes = first === undefined ? 0 : (this.#ctx.now().getTime() - first) / 60_000
    return this.#doneAt.length < 2 || minutes <= 0 ? undefined : (this.#doneAt.length - 1) / minutes
  }
}

const nameOf = (row: ChipRow | undefined): string => (row === undefined ? '' : (row.label ?? nameOfRow(row)))
