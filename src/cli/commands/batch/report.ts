import { describeBadge } from '../../batch/badge-run.ts'
import { describeResult } from '../../batch/edit-run.ts'
import { type History, readHistory } from '../../batch/history.ts'
import { describeMetadata } from '../../batch/metadata-run.ts'
import type { Outcome } from '../../batch/token-records.ts'
import { targetWords } from '../../batch/token-words.ts'
import { describeTransfer } from '../../batch/transfer-run.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { clean } from '../../io/text.ts'
import { bothForms } from '../../uid.ts'
import { afterDamage, batchArgument, skipDamaged } from './summary.ts'

export const report = defineCommand({
  name: 'report',
  summary: 'Show what became of each row of a batch',
  examples: ['batch report b_1hq3v9k7s2m4xa', 'batch report b_1hq3v9k7s2m4xa --failed --json'],
  args: batchArgument,
  options: { failed: flag('--failed', 'The rows that failed alone'), skipDamaged },
  run: async (ctx, { args, options }) => {
    const history = await readHistory(ctx.at, args.id, options.skipDamaged)
    await show(ctx, history, options.failed)
    return afterDamage(ctx, history)
  },
})

const show = async (ctx: CliContext, history: History, failedAlone: boolean): Promise<void> => {
  const { header, rows, results } = history
  if (header.kind.startsWith('phygitals')) {
    return reportTokens(ctx, history, failedAlone)
  }
  if (header.kind.startsWith('badge-events')) {
    return reportBadges(ctx, history, failedAlone)
  }
  if (header.kind === 'nfc provision') {
    return reportChips(ctx, history, failedAlone)
  }
  const wanted =
    rows.length > 0
      ? rows
      : [...results.values()].map(({ row, uid }) => ({ row, uid, redirectUrl: undefined }))
  for (const { row, uid, redirectUrl } of wanted) {
    const result = results.get(row)
    if (failedAlone && result?.status !== 'failed') continue
    if (result === undefined) {
      await ctx.io.line({ row, uid, status: 'pending' }, () => `row ${row}  ${bothForms(uid)}  pending`)
      continue
    }
    const { status, previous, error } = result
    const line = { row, uid, status, previous, error }
    await ctx.io.line(line, () =>
      header.kind === 'chips import' && status !== 'failed'
        ? `row ${row}  ${bothForms(uid)}  ${status}`
        : describeResult(result, redirectUrl),
    )
  }
}

/** Chips that were not laid down yet have no line. */
const reportChips = async (ctx: CliContext, { chips }: History, failedAlone: boolean): Promise<void> => {
  for (const { row, uid, status = 'pending', error } of chips.values()) {
    if (failedAlone && status !== 'failed') continue
    await ctx.io.line({ row, uid, status, error }, () =>
      clean(
        [...(row === undefined ? [] : [`row ${row}`]), bothForms(uid), status, error ?? []].flat().join('  '),
      ),
    )
  }
}

const reportBadges = async (
  ctx: CliContext,
  { badges, badgeOutcomes }: History,
  failedAlone: boolean,
): Promise<void> => {
  for (const row of badges) {
    const outcome = badgeOutcomes.get(row.row)
    if (failedAlone && outcome?.status !== 'failed') continue
    const { status = 'pending', id, error } = outcome ?? {}
    await ctx.io.line({ row: row.row, ...row.cells, status, id, error }, () =>
      outcome ? describeBadge(outcome, row) : `row ${row.row}  pending`,
    )
  }
}

const reportTokens = async (
  ctx: CliContext,
  { transfers, metadata, outcomes }: History,
  failedAlone: boolean,
): Promise<void> => {
  const show = async (row: number, about: object, forPeople: (outcome: Outcome) => string, what: string) => {
    const outcome = outcomes.get(row)
    if (failedAlone && outcome?.status !== 'failed') return
    const { status = 'pending', initialTxHash, error } = outcome ?? {}
    await ctx.io.line({ row, ...about, status, initialTxHash, error }, () =>
      outcome ? forPeople(outcome) : `row ${row}  ${what}  pending`,
    )
  }
  for (const row of transfers) {
    const { target, recipient, owner } = row
    const about = { ...target, recipient, previousOwner: owner }
    await show(row.row, about, (outcome) => describeTransfer(outcome, row), targetWords(target))
  }
  for (const row of metadata)
    await show(row.row, row.target, (outcome) => describeMetadata(outcome, row), targetWords(row.target))
}
