import { stringifyExact } from '../../../values/json.ts'
import { clean, cleanLines, counted } from '../../io/text.ts'
import { changedIn } from '../plan.ts'
import type { KindMessages, SheetKind } from '../sheet-kind.ts'
import { describeTarget, targetOnWire, targetSheet, tokenOf } from '../token.ts'
import { noteChainCosts } from './chain-costs.ts'
import { type MetadataRow, metadataSheet } from './metadata-sheet.ts'
import type { Template } from './metadata-template.ts'

/** A person looks at that of the first rows; all of it is checked. */
const jsonShown = 3

const messages = {
  name: 'phygitals metadata',
  label: 'Updating',
  describe: (result, isPlan = false) => {
    const { row, status = 'pending', metadata, error } = result
    const end = error === undefined ? [] : [error]
    const line = clean([`row ${row}`, ...describeTarget(result), status, ...end].join('  '))
    if (!isPlan || row > jsonShown || metadata === undefined) return line
    const json = metadata === null ? '(no metadata)' : stringifyExact(metadata, 2)
    return `${line}\n${cleanLines(json)}`
  },
  shown: (result, where) => {
    const { row, uid, status, metadata, previous, error } = result
    const token = tokenOf(result)
    switch (where) {
      case 'plan':
        return { row, uid, status, token, metadata, previous, error }
      case 'run':
        return { row, uid, status, error }
      case 'report':
        return { row, uid, ...token, status, previous, error }
    }
  },
  // Metadata needs no chain; only its announcement does, which waits for a relayer that can pay.
  showCosts: noteChainCosts,
  question: (totals) => `Replace the metadata of ${counted(changedIn(totals), 'token')}?`,
  undoQuestion: (count) => `Restore the metadata of ${counted(count, 'token')}?`,
} as const satisfies KindMessages

export const phygitalMetadata = (template?: Template): SheetKind<MetadataRow> => ({
  ...messages,
  sheet: metadataSheet(template),
  line: ({ target, metadata }) => ({ ...targetOnWire(target), metadata }),
  sheetOf: (rows) => {
    const { heading, cells } = targetSheet(rows.map(({ target }) => target))
    return {
      heading: [...heading, 'metadata'],
      cells: ({ target, metadata }) => [...cells(target), stringifyExact(metadata)],
    }
  },
})

/** The batch that undoes it. */
export const phygitalMetadataUndo: KindMessages = { ...messages, name: 'phygitals undo', label: 'Restoring' }
