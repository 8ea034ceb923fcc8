import type { AnswerOf } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { CliError, type ExitCode, exitCodes } from '../../errors.ts'
import { clean, counted, formatNumber, shown } from '../../io/text.ts'
import { checkWithDaemon, chunksOf, dryRunLines, rowMessage } from '../answers.ts'
import type { Row } from '../journal.ts'
import { describeTarget, type TokenTarget, targetOnWire } from '../token.ts'
import { type ChainTotals, costWords, refuseUnpayable, warnOfFees } from './chain-costs.ts'

/**
 * `recipient` is an address, or a name that the check could not resolve. `owner` is the previous owner; null: nobody;
 * undefined: not known.
 */
export interface TransferRow extends Row {
  readonly target: TokenTarget
  readonly recipient: string
  readonly owner?: string | null | undefined
}

type Line = AnswerOf<'POST /phygitals/transfer/check'>
export type CheckedTransfer = Exclude<Line, { totals: unknown }>
type Last = Extract<Line, { totals: unknown }>

export interface TransferCheck {
  readonly rows: ReadonlyMap<number, CheckedTransfer>
  readonly totals: readonly ChainTotals[]
  readonly budget: Last['budget'] | undefined
}

/** Rows per chunk of the request body. */
const rowsAPiece = 500

/** The daemon's verdict on each row as of now, and the cost of all of them; nothing is sent. */
export const checkTransfers = (ctx: CliContext, rows: readonly TransferRow[]): Promise<TransferCheck> =>
  checkWithDaemon(ctx, 'sent', async (signal) => {
    const client = await ctx.client()
    const checked = new Map<number, CheckedTransfer>()
    let last: Last | undefined
    function* content() {
      for (const some of chunksOf(rows, rowsAPiece))
        yield some
          .map(({ target, recipient }) => `${JSON.stringify({ ...targetOnWire(target), recipient })}\n`)
          .join('')
    }
    const progress = ctx.io.progress('Checking', rows.length)
    try {
      const answers = client.stream('POST /phygitals/transfer/check', {
        upload: { contentType: 'application/x-ndjson', content: { [Symbol.iterator]: content } },
        signal,
      })
      for await (const answer of answers) {
        if ('totals' in answer) last = answer
        else {
          const sent = rows[answer.row - 1]
          const { error } = answer
          const words = error === undefined ? {} : { error: rowMessage(error, sent?.target) }
          if (sent) checked.set(sent.row, { ...answer, ...words, row: sent.row })
          progress.advance(1)
        }
      }
    } finally {
      progress.end()
    }
    if (checked.size < rows.length && !signal.aborted)
      throw new CliError(`The daemon answered only ${checked.size} of ${rows.length} rows. Nothing was sent.`)
    return { rows: checked, totals: last?.totals ?? [], budget: last?.budget }
  })

/** Warns if gas costs more than the daemon may pay, or the batch exceeds the team's daily limit. */
export const warnOfLimits = (ctx: CliContext, check: TransferCheck): void => {
  warnOfBudget(ctx, check)
  warnOfFees(ctx, check.totals)
}

/** Rows beyond the daily limit fail, and can be retried. */
const warnOfBudget = (ctx: CliContext, { totals, budget }: TransferCheck): void => {
  if (!budget) return
  const { transactionsLeft, gasLeft } = budget
  const wanted = totals.reduce((sum, { transactions }) => sum + transactions, 0)
  const left = [
    ...(transactionsLeft === null ? [] : [counted(transactionsLeft, 'transaction')]),
    ...(gasLeft === null ? [] : [`${formatNumber(gasLeft)} gas`]),
  ].join(' and ')
  ctx.io.warn(
    `The team may send ${left} more today (UTC), but this needs ${counted(wanted, 'transaction')}. The rows beyond the limit will fail: retry them another day (tapchip batch resume --retry-failed), or raise the limit (tapchip teams edit).`,
  )
}

/** Prints current owners, changes, and the cost. */
export const showCheck = async (
  ctx: CliContext,
  rows: readonly TransferRow[],
  check: TransferCheck,
): Promise<ExitCode> => {
  const { io } = ctx
  const shownRows = dryRunLines(ctx)
  const counts = { transfer: 0, mint: 0, unchanged: 0, refused: 0, invalid: 0 }
  for (const row of rows) {
    const checked = check.rows.get(row.row)
    if (!checked) continue
    counts[checked.status] += 1
    const { status, token, owner, recipient, error, note } = checked
    await shownRows.line({ row: row.row, status, token, owner, recipient, error, note }, () =>
      describeCheck(checked, row),
    )
  }
  shownRows.end()
  if (io.json) await io.line({ totals: check.totals, budget: check.budget }, () => '')
  io.note(
    `Dry run: ${counted(counts.transfer, 'transfer')}, ${counted(counts.mint, 'mint')}, ${formatNumber(counts.unchanged)} unchanged, ${formatNumber(counts.refused)} would fail. Nothing was sent.`,
  )
  for (const chain of check.totals) io.note(`Chain ${chain.chainId}: ${costWords(chain)}`)
  warnOfLimits(ctx, check)
  refuseUnpayable(check.totals)
  return counts.refused > 0 ? exitCodes.partial : exitCodes.done
}

const describeCheck = (checked: CheckedTransfer, row: TransferRow): string => {
  const { status, token, owner, recipient, error, note } = checked
  const { tokenId } = token ?? {}
  const found = token && tokenId ? [describeTarget({ ...token, tokenId })] : []
  // People recognize the chip that they named; a token that they named is the one that was found.
  const what = (
    'uid' in row.target || found.length === 0 ? [describeTarget(row.target), ...found] : found
  ).join('  ')
  const start = `row ${row.row}  ${what}  ${status}`
  if (status === 'refused') return clean(`${start}  ${error ?? ''}`)
  const name = recipient?.toLowerCase() === row.recipient.toLowerCase() ? '' : ` (${row.recipient})`
  return clean(
    `${start}  ${owner === null ? 'nobody' : shown(owner)} → ${shown(recipient)}${name}${note ? `  ${note}` : ''}`,
  )
}
