import { createReadStream } from 'node:fs'
import { type JournalLine, parseLine } from './records.ts'

interface Line {
  readonly number: number
  /** undefined: it says nothing. */
  readonly line: JournalLine | undefined
  /** It is how a line begins, as a kill may leave it. */
  readonly isBeginning: boolean
  readonly hasEnd: boolean
}

const lineFrom = (text: string, number: number, hasEnd: boolean): Line => {
  const line = parseLine(text)
  const beginning = '{"type":"'
  const isBeginning = text.startsWith(beginning) || beginning.startsWith(text)
  return { number, line, isBeginning, hasEnd }
}

/** The lines of a journal, blank ones left out. */
async function* linesOf(path: string): AsyncGenerator<Line> {
  let number = 0
  let rest = ''
  // Not by readline, which does not tell whether the last line has an end.
  for await (const chunk of createReadStream(path, 'utf8')) {
    const texts = (rest + String(chunk)).split('\n')
    rest = texts.pop() ?? ''
    for (const text of texts) {
      number += 1
      if (text.trim() !== '') yield lineFrom(text, number, true)
    }
  }
  if (rest.trim() !== '') yield lineFrom(rest, number + 1, false)
}

/** The same without those that say nothing. What a kill cut short is left out, all others go to `damaged`. */
export async function* soundLines(path: string, damaged: number[]): AsyncGenerator<JournalLine> {
  let silent: Line | undefined
  for await (const next of linesOf(path)) {
    // Whoever goes on begins a line anew.
    if (silent && !(silent.isBeginning && next.line?.type === 'resumed')) damaged.push(silent.number)
    silent = next.line === undefined ? next : undefined
    if (next.line !== undefined) yield next.line
  }
  if (silent && !(silent.isBeginning && !silent.hasEnd)) damaged.push(silent.number)
}
