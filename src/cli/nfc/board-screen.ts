import { clean, widthOf } from '../io/text.ts'
import { blockLetters } from './block-letters.ts'

/** One word and one colour a state. */
export type PanelState = 'READY' | 'HOLD' | 'DONE' | 'FAILED' | 'WAIT' | 'GONE'

/** A reader as the board shows it. */
export interface Panel {
  readonly reader: string
  readonly state: PanelState
  /** The label of its chip, or which one it is. */
  readonly chip: string
  /** The next thing to do, or what is wrong. */
  readonly text: string
}

export interface Screen {
  readonly panels: readonly Panel[]
  /** Done and asked for. */
  readonly count: string
  readonly totals: string
  readonly message: string
}

export interface Terminal {
  readonly width: number
  readonly height: number
  readonly color: boolean
  /** False where it may not show block characters. */
  readonly unicode: boolean
}

/** Background and letters, as SGR parameters. */
const colors: Readonly<Record<PanelState, string>> = {
  READY: '44;97',
  HOLD: '43;30',
  DONE: '42;30',
  FAILED: '41;97',
  WAIT: '45;97',
  GONE: '100;97',
}

const maxTextLines = 4

/** The lines of the whole terminal. */
export const drawScreen = ({ panels, count, totals, message }: Screen, at: Terminal): string[] => {
  const { width, height } = at
  const messageLines = height >= 20 ? 2 : 1
  const footHeight = (height >= 30 ? 8 : 1) + messageLines
  const columns = panels.length <= 1 ? 1 : panels.length <= 4 ? 2 : Math.max(1, Math.floor(width / 40))
  const rows = Math.ceil(Math.max(1, panels.length) / columns)
  const panelHeight = Math.max(3, Math.floor((height - footHeight) / rows))
  const lines: string[] = []
  for (let row = 0; row < rows; row += 1) {
    const drawn = Array.from({ length: columns }, (_, column) => {
      // The last column takes what the division leaves.
      const panelWidth = Math.floor(width / columns) + (column === columns - 1 ? width % columns : 0)
      const panel = panels[row * columns + column]
      return drawPanel(panel, panelWidth, panelHeight, at)
    })
    for (let line = 0; line < panelHeight; line += 1) lines.push(drawn.map((one) => one[line] ?? '').join(''))
  }
  const large = height >= 30 ? (blockLetters(count, { width: width - 2, height: 5 }, ink(at)) ?? []) : []
  const foot = [
    ...(large.length > 0 ? ['', ...large.map((line) => ` ${line}`), ''] : []),
    ` ${large.length > 0 ? totals : `${count}   ${totals}`}`,
    ...wrapped(message, width - 2)
      .slice(0, messageLines)
      .map((line) => ` ${line}`),
  ]
  const space = Math.max(0, height - lines.length - foot.length)
  const all = [...lines, ...Array<string>(space).fill(''), ...foot.map((line) => padded(line, width))]
  return all.slice(-height)
}

const ink = ({ unicode }: Terminal): string => (unicode ? '█' : '#')

const drawPanel = (panel: Panel | undefined, width: number, height: number, at: Terminal): string[] => {
  if (panel === undefined) return Array<string>(height).fill(' '.repeat(width))
  const { reader, state, chip, text } = panel
  const inner = width - 4
  const space = { width: inner, height: Math.max(1, height - 5) }
  const word = blockLetters(state, space, ink(at)) ?? [state]
  // A label is large too where there is room for both.
  const room = { width: inner, height: Math.min(5, height - word.length - 5) }
  const label = blockLetters(chip, room, ink(at)) ?? [chip]
  const emptyLines = Math.max(1, height - 1 - word.length - label.length - 1)
  const body = [
    ...word,
    '',
    ...label,
    ...wrapped(text, inner).slice(0, Math.min(emptyLines, maxTextLines)),
  ].map((line) => center(line, inner))
  const above = Math.max(0, Math.floor((height - 1 - body.length) / 2))
  const lines = [reader, ...Array<string>(above).fill(''), ...body].slice(0, height)
  const style = (line: string): string => {
    const shown = padded(`  ${padded(line, inner)}`, width)
    return at.color ? `\x1b[1;${colors[state]}m${shown}\x1b[0m` : shown
  }
  return Array.from({ length: height }, (_, row) => style(lines[row] ?? ''))
}

/** At spaces. The last line may be too long: it is cut where it is shown. */
const wrapped = (text: string, width: number): string[] => {
  const lines: string[] = []
  for (const word of clean(text).split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && widthOf(`${last} ${word}`) <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

const center = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, Math.floor((width - widthOf(clean(text))) / 2))) + text

/** Exactly so wide: cut, or filled with spaces. Control characters are shown as escapes. */
const padded = (text: string, width: number): string => {
  let shown = clean(text)
  if (widthOf(shown) > width) {
    const letters = [...shown]
    while (letters.length > 0 && widthOf(letters.join('')) > width - 1) letters.pop()
    shown = `${letters.join('')}…`
  }
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)))
}
