import { readRecipient } from '../../../values/recipient.ts'
import { canonicalTokenId, tokenChecks } from '../../../values/token.ts'
import { counted, shown } from '../../io/text.ts'
import type { Problems } from '../input/problems.ts'
import type { Cell } from '../input/sheet.ts'
import { changedIn } from '../plan.ts'
import { describeRow, type SheetKind, type SheetRow } from '../sheet-kind.ts'
import { showChainCosts } from './chain-costs.ts'

type MintedEvent =
  | { readonly eventId: number }
  | { readonly contractId: number; readonly tokenId: string }
  | { readonly contractAddress: string; readonly chainId: number; readonly tokenId: string }

interface MintRow extends SheetRow {
  readonly event: MintedEvent
  readonly recipient: string
}

const eventColumns = ['eventId', 'contractAddress', 'chainId', 'tokenId'] as const

/** The event of a row, by its id or by its token. */
const readEvent = (problems: Problems, row: number, cells: readonly Cell[]): MintedEvent | undefined => {
  const [eventId, ...token] = cells
  const isToken = token.some((cell) => cell)
  if (eventId && isToken) {
    problems.add(row, undefined, 'names an event and a token: leave one of them out')
    return undefined
  }
  if (!isToken) {
    if (eventId && /^[1-9]\d{0,14}$/.test(eventId)) return { eventId: Number(eventId) }
    problems.add(row, 'eventId', eventId ? `"${eventId}" must be the id of a guestbook event` : 'is missing')
    return undefined
  }
  let fits = true
  for (const [at, [column, check]] of Object.entries(tokenChecks).entries()) {
    const cell = token[at]
    const why = cell ? check(cell) : 'is missing'
    if (why === undefined) continue
    fits = false
    problems.add(row, column, cell ? `"${cell}" ${why}` : why)
  }
  const [contractAddress = '', chainId = '', tokenId = ''] = token.map((cell) => cell ?? '')
  return fits ? { contractAddress, chainId: Number(chainId), tokenId: canonicalTokenId(tokenId) } : undefined
}

/** @param event of all rows; undefined: each row names its own */
export const guestbookMint = (event?: MintedEvent): SheetKind<MintRow> => ({
  name: 'guestbook mint',
  sheet: {
    columns: [...(event ? [] : eventColumns), 'recipient'],
    required: ['recipient'],
    ...(event ? {} : { anyOf: ['eventId', 'tokenId'] }),
    parse: (_, problems) => ({
      row: (row, cells) => {
        const found = event ?? readEvent(problems, row, cells.slice(0, eventColumns.length))
        const recipient = cells[event ? 0 : eventColumns.length]
        const read = recipient ? readRecipient(recipient) : undefined
        const why = read && 'reason' in read ? `"${recipient}" ${read.reason}` : undefined
        if (!recipient || why !== undefined) problems.add(row, 'recipient', why ?? 'is missing')
        return found && recipient && why === undefined ? { row, event: found, recipient } : undefined
      },
    }),
  },
  line: ({ event: minted, recipient }) => ({ ...minted, recipient }),
  ...messages,
  sheetOf: () => ({
    heading: [...eventColumns, 'recipient'],
    cells: ({ event: minted, recipient }) => {
      const known: Readonly<Record<string, unknown>> = { ...minted }
      return [...eventColumns.map((column) => String(known[column] ?? '')), recipient]
    },
  }),
})

const messages = {
  label: 'Minting',
  changed: (count) => `${count.toLocaleString('en-US')} minted`,
  describe: (result) => {
    const { recipient, txnHash } = result
    return describeRow(
      result,
      ...[recipient, txnHash].filter((part) => typeof part === 'string').map((part) => shown(part)),
    )
  },
  isFinal: true,
  showCosts: showChainCosts,
  question: (totals) => `Mint ${counted(changedIn(totals), 'token')}? This cannot be undone.`,
} as const satisfies Partial<SheetKind<MintRow>>
