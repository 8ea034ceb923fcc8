import { totalsAsText } from '../../chain/prices.ts'
import { BatchCosts } from '../../phygitals/batch-costs.ts'
import { type CurrentToken, type RowTarget, targetOfRow } from '../../phygitals/batch-row.ts'
import { type CheckedMove, checkEachMove, checkOneMove } from '../../phygitals/check-batch.ts'
import { groupedMint } from '../../phygitals/mint-group.ts'
import { sendRowUnless } from '../../phygitals/send-row.ts'
import { isUnmoved, recordRow } from '../../phygitals/transfer-batch.ts'
import type { BatchDeps, BatchRun, NumberedRow, PlannedRow, RowResult, SentKind } from '../kind.ts'
import { LineProblem, lineReader, textIn } from './lines.ts'
import { claimOfRow, isPassing, mintTogether, rowsAtOnce } from './sent-rows.ts'
import { describeTarget, firstWith, targetIn } from './token-lines.ts'

export type TransferLine = NumberedRow & RowTarget & { readonly recipient: string }

/** A plan shows the token's owner, and the address behind a name. */
export interface TransferResult extends RowResult {
  readonly uid?: string
  readonly token?: CurrentToken | undefined
  /** Before this row, after any pending transfer; null: nobody. */
  readonly owner?: string | null | undefined
  readonly recipient?: string | undefined
  /** The recipient in the line, if it is not already the address. */
  readonly name?: string
  readonly note?: string
  /** The row can never succeed. */
  readonly isInvalid?: true
  readonly initialTxHash?: string
  readonly transactionId?: number | undefined
}

const statuses = {
  transfer: 'transferred',
  mint: 'minted',
  unchanged: 'unchanged',
  refused: 'failed',
  invalid: 'failed',
} as const satisfies Record<CheckedMove['status'], RowResult['status']>

const isMove = ({ status }: RowResult): boolean => status === 'transferred' || status === 'minted'

interface RequestedMove {
  readonly target: RowTarget
  readonly recipient: string
}

function planned(
  move: CheckedMove,
  { target, recipient }: RequestedMove,
  seen = new Map<string, number>(),
): TransferResult {
  const { row, token } = move
  const isNamed = move.recipient !== undefined && move.recipient.toLowerCase() !== recipient.toLowerCase()
  const name = isNamed ? { name: recipient } : {}
  const result = { ...target, recipient, ...move, ...name, status: statuses[move.status] }
  const other = firstWith(seen, row, token)
  if (move.status === 'invalid')
    return { ...result, error: describeTarget(move.error, target), isInvalid: true }
  if (other !== undefined)
    return { ...result, status: 'failed', error: `moves the same token as row ${other}`, isInvalid: true }
  return move.status === 'refused' ? { ...result, error: describeTarget(move.error, target) } : result
}

/** A planned row is valid as long as the token has not moved. */
async function asPlanned(
  deps: BatchDeps,
  { teamId }: BatchRun,
  target: RowTarget,
  { status, token, owner = null }: TransferResult,
): Promise<Pick<TransferResult, 'status' | 'error'>> {
  const exists = token === undefined || (await isUnmoved(deps, teamId, target, { token, owner }))
  if (!exists) return { status: 'conflict', error: movedOn }
  return { status }
}

const movedOn = 'The token has another owner than the plan showed. It was left alone.'

function requestOf(
  deps: BatchDeps,
  run: BatchRun,
  { row: line, planned: seen }: PlannedRow<TransferLine, TransferResult>,
  key: string,
) {
  const { row } = line
  const target = targetOfRow(line)
  // Sends to the address that the plan showed, even if the name points elsewhere by now.
  const recipient = seen?.recipient ?? line.recipient
  const result: TransferResult = { row, ...target, owner: seen?.owner, recipient, status: 'transferred' }
  const claim = claimOfRow(deps, run, key, { target, recipient })
  // An unplanned row is not sent if the token is already where it should be.
  const judge = async (): Promise<TransferResult> => ({
    ...result,
    ...(seen
      ? await asPlanned(deps, run, target, seen)
      : planned(await checkOneMove(deps, run.teamId, { row, target, recipient }), { target, recipient })),
  })
  return { target, recipient, claim, judge, result }
}

export const phygitalTransfers: SentKind<TransferLine, TransferResult> = {
  names: ['phygitals transfer'],
  how: 'sent',
  isAdmin: false,
  scope: 'transfer',
  concurrency: rowsAtOnce,
  readRow: lineReader((line, row) => {
    const recipient = textIn(line, 'recipient', 255)
    if (recipient === undefined || recipient.trim() === '') throw new LineProblem('recipient is missing')
    return { row, ...targetIn(line), recipient }
  }),
  async plan(deps, { teamId }, rows, seen) {
    const moves = rows.map((row) => ({ row: row.row, target: targetOfRow(row), recipient: row.recipient }))
    const results: TransferResult[] = []
    for await (const move of checkEachMove(deps, teamId, moves)) {
      const one = moves[results.length]
      if (one) results.push(planned(move, one, seen))
    }
    return results
  },
  totals: (_, results) => ({ transfers: results.filter(isMove).length }),
  async costs(deps, { teamId }, pieces) {
    const costs = new BatchCosts(deps, true)
    for await (const results of pieces)
      for (const result of results.filter(isMove))
        await costs.add({ ...result, status: result.status === 'minted' ? 'mint' : 'transfer' })
    const feeCap = (chainId: number) => deps.feeCap(chainId)
    const { totals, ...rest } = await costs.totals({ teamId, feeCap })
    return { totals: totals.map(totalsAsText), ...rest }
  },
  sendTogether: (deps, run, rows) =>
    mintTogether(deps, run, rows, async (row) => {
      // Transfers of the plan are judged once, when they are sent.
      if (row.planned && row.planned.status !== 'minted') return undefined
      const { target, recipient, claim, judge } = requestOf(deps, run, row, row.key)
      if (await deps.idempotency.isKnown(claim)) return undefined
      const result = await judge()
      if (result.status !== 'minted') return undefined
      const mint = await groupedMint(deps, { ...run, idempotency: claim }, { target, recipient })
      return mint && { ...mint, result }
    }),
  async send(deps, run, planned, key, known) {
    if (planned.planned?.status === 'failed') return planned.planned
    const { row } = planned.row
    const { target, recipient, claim, judge, result } = requestOf(deps, run, planned, key)
    let found = known ?? result
    const sent = await sendRowUnless(deps, claim, async () => {
      found = await judge()
      return isMove(found) ? recordRow(deps, run, { target, recipient, claim }) : undefined
    })
    switch (sent.status) {
      case 'sent':
        return { ...found, status: 'transferred', initialTxHash: sent.hash }
      case 'queued':
        return { ...found, status: 'queued' }
      case 'skipped':
        return found
      case 'failed': {
        const error = describeTarget(sent.error, target)
        if (isPassing(sent.code)) return { row, retryReason: error }
        return { ...found, status: 'failed', error, transactionId: sent.transactionId }
      }
    }
  },
  undo: {
    refusal:
      'Transfers cannot be undone: the tokens belong to their new owners, who may have passed them on.',
    advice: 'See who owned them before: tapchip batch report BATCH',
  },
}
