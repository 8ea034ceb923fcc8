import type { CliContext } from '../context.ts'
import { Problems } from './input/problems.ts'
import { readSheet, type SheetOptions } from './input/sheet.ts'
import { openSource } from './input/source.ts'
import type { Header } from './records.ts'
import { TokenColumns, tokenColumns, tokenNeeded } from './token-columns.ts'
import type { TransferRow } from './token-records.ts'

export const transferColumns = [...tokenColumns, 'recipient']
export const transferNeeded = { ...tokenNeeded, required: ['recipient'] }

export interface TransferInput {
  readonly input: Header['input']
  readonly rows: readonly TransferRow[]
  /** What the sheet alone shows. Whoever reads it adds what the daemon says, and refuses all of it at once. */
  readonly problems: Problems
}

/** Reads a whole sheet of transfers, as far as it can be judged without the daemon. */
export const readTransfers = async (
  ctx: CliContext,
  file: string,
  options: SheetOptions,
  accepted: boolean,
): Promise<TransferInput> => {
  const source = openSource(ctx.at, file)
  const problems = new Problems()
  const tokens = new TokenColumns(problems)
  const rows: TransferRow[] = []
  await readSheet(source, options, problems, {
    row: (row, cells) => {
      const target = tokens.read(row, cells.slice(0, tokenColumns.length))
      const recipient = cells[tokenColumns.length]
      const why = recipient ? checkRecipient(recipient) : undefined
      if (!recipient) problems.add(row, 'recipient', 'is missing')
      if (why !== undefined) problems.add(row, 'recipient', `"${recipient}" ${why}`)
      if (target && recipient && why === undefined) rows.push({ row, target, recipient })
    },
  })
  tokens.finish(accepted)
  return {
    input: { name: source.name, path: source.path ?? null, sha256: source.sha256() },
    rows,
    problems,
  }
}

/** What shows without the daemon, which also knows checksums and which names there are. */
const checkRecipient = (text: string): string | undefined => {
  if (/^0x0{40}$/i.test(text)) return 'is the zero address: what is sent there is lost'
  if (/^0x[0-9a-f]{40}$/i.test(text)) return undefined
  if (/^0x[^.]*$/i.test(text)) return 'must be an address: 0x and 40 hex digits'
  if (/^[0-9a-f]{40}$/i.test(text)) return 'looks like an address without its 0x'
  const never = /[@!"#%&'()*+,/:;<=>?[\]\\^`{|}~]/.exec(text)?.[0]
  if (never !== undefined) return `is no ENS name: none holds a ${never}`
  return /\s/.test(text) || !text.includes('.')
    ? 'is neither an address (0x…) nor an ENS name (name.eth)'
    : undefined
}
