import { CliError } from '../errors.ts'
import { counted } from '../io/text.ts'
import type { Header } from './records.ts'

/** What a journal cannot have been when it was written. */
export interface Damage {
  /** Lines that say nothing, in their order, from 1. One that a kill cut short is none of them. */
  readonly lines: readonly number[]
  /** Rows that the batch had, and that stand nowhere. */
  readonly missingRows: number
}

export const isDamaged = ({ lines, missingRows }: Damage): boolean => lines.length > 0 || missingRows > 0

const shownLines = 10

/** What is wrong with it, as a sentence. */
export const damageWords = (id: string, path: string, { lines, missingRows }: Damage): string => {
  const shown = `${lines.slice(0, shownLines).join(', ')}${lines.length > shownLines ? ', …' : ''}`
  const why = [
    ...(lines.length === 0 ? [] : [`${counted(lines.length, 'line')} of it cannot be read (${shown})`]),
    ...(missingRows === 0
      ? []
      : [
          `${counted(missingRows, 'row')} of the batch ${missingRows === 1 ? 'stands' : 'stand'} nowhere in it`,
        ]),
  ]
  return `The journal of batch ${id} is damaged: ${why.join(', and ')}. It is ${path}`
}

/** What was done with such rows is not known: to leave them out would look like success. */
export const damagedJournal = (
  header: Pick<Header, 'id' | 'kind'>,
  path: string,
  damage: Damage,
): CliError => {
  const canUndo = header.kind.endsWith('edit') || header.kind === 'phygitals metadata'
  const undo = canUndo ? ` Put back what can be: tapchip batch undo ${header.id} --skip-damaged.` : ''
  return new CliError(damageWords(header.id, path, damage), {
    advice:
      `Put the file back from a backup. What can be read: tapchip batch report ${header.id} --skip-damaged.${undo} ` +
      'To finish the rest, begin a new batch from the input.',
  })
}
