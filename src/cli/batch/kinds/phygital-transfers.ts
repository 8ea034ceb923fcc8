import { readRecipient } from '../../../values/recipient.ts'
import { clean, counted, formatNumber, shown } from '../../io/text.ts'
import { changedIn } from '../plan.ts'
import type { RowResult, SheetKind, SheetRow } from '../sheet-kind.ts'
import {
  addIfInvalid,
  asEther,
  describeTarget,
  TokenColumns,
  type TokenTarget,
  targetOnWire,
  targetSheet,
  tokenColumns,
  tokenNeeded,
  tokenOf,
} from '../token.ts'
import { priceOf, showChainCosts } from './chain-costs.ts'

interface TransferRow extends SheetRow {
  readonly target: TokenTarget
  readonly recipient: string
}

/** Statuses in a plan, where nothing was sent yet. */
const plannedStatus: Readonly<Record<string, string>> = {
  transferred: 'transfer',
  minted: 'mint',
  failed: 'refused',
}

const statusOf = ({ status = 'pending' }: RowResult, isPlan: boolean): string =>
  (isPlan ? plannedStatus[status] : undefined) ?? status

const describe = (result: RowResult, isPlan = false): string => {
  const { row, owner, recipient, name, note, initialTxHash, error } = result
  const status = statusOf(result, isPlan)
  const before = owner === undefined ? '' : `${shown(owner ?? 'nobody')} `
  const to = name === undefined ? shown(recipient) : `${shown(recipient)} (${shown(name)})`
  return clean(
    [
      `row ${row}`,
      ...describeTarget(result),
      status,
      ...(recipient === undefined || status === 'refused' ? [] : [`${before}→ ${to}`]),
      ...[note, initialTxHash, error].filter((part) => typeof part === 'string'),
    ].join('  '),
  )
}

export const phygitalTransfers: SheetKind<TransferRow> = {
  name: 'phygitals transfer',
  sheet: {
    columns: [...tokenColumns, 'recipient'],
    ...tokenNeeded,
    required: ['recipient'],
    isCheckedByPlan: true,
    parse: (_, problems) => {
      const tokens = new TokenColumns(problems)
      return {
        row: (row, cells) => {
          const target = tokens.read(row, cells.slice(0, tokenColumns.length))
          const recipient = cells[tokenColumns.length]
          // The chain of a chip's token is the daemon's to check.
          const chainId = target && 'chainId' in target ? target.chainId : undefined
          const read = recipient ? readRecipient(recipient, chainId) : undefined
          const why = read && 'reason' in read ? `"${recipient}" ${read.reason}` : undefined
          if (!recipient || why !== undefined) problems.add(row, 'recipient', why ?? 'is missing')
          return target && recipient && why === undefined ? { row, target, recipient } : undefined
        },
        finish: (accepted) => tokens.finish(accepted),
        // Wrong checksums, and tokens that two rows move.
        planned: (result) => addIfInvalid(problems, result),
      }
    },
  },
  line: ({ target, recipient }) => ({ ...targetOnWire(target), recipient }),
  label: 'Transferring',
  changed: (count) => `${formatNumber(count)} transferred`,
  describe,
  shown: (result, where) => {
    const { row, uid, owner, recipient, note, initialTxHash, transactionId, error } = result
    const status = statusOf(result, where === 'plan')
    const token = tokenOf(result)
    switch (where) {
      case 'plan':
        return status === 'refused'
          ? { row, uid, status, token, owner, error }
          : { row, uid, status, token, owner, recipient, note }
      case 'run':
        return { row, uid, status, initialTxHash, error }
      case 'report': {
        const about = uid === undefined ? token : { uid }
        return { row, ...about, recipient, previousOwner: owner, status, initialTxHash, transactionId, error }
      }
    }
  },
  dryRun: ({ transferred = 0, minted = 0, unchanged = 0, failed = 0 }) =>
    `Dry run: ${counted(transferred, 'transfer')}, ${counted(minted, 'mint')}, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} would fail. Nothing was sent.`,
  showCosts: async (ctx, costs) => {
    // For programs, the last line of a dry run.
    if (ctx.flags.dryRun && ctx.io.json) await ctx.io.line(costs, () => '')
    showChainCosts(ctx, costs)
  },
  question: (totals, _, costs = {}) =>
    `Transfer ${counted(changedIn(totals), 'token')}? This costs up to ${asEther(priceOf(costs))} ether, and cannot be undone.`,
  isFinal: true,
  remark: (statuses) => {
    const queued = statuses.get('queued') ?? 0
    if (queued === 0) return undefined
    const wait = counted(queued, 'transfer waits', 'transfers wait')
    return `${wait} for room on the chain, and will be sent automatically: tapchip transactions list`
  },
  hint: ({ id }) => `See all rows: tapchip batch report ${id}`,
  sheetOf: (rows) => {
    const { heading, cells } = targetSheet(rows.map(({ target }) => target))
    return {
      heading: [...heading, 'recipient'],
      cells: ({ target, recipient }) => [...cells(target), recipient],
    }
  },
}
