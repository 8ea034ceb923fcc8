import { describeResult } from '../../batch/edit-run.ts'
import { readHistory } from '../../batch/history.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import { exitCodes } from '../../errors.ts'
import { bothForms } from '../../uid.ts'
import { batchArgument } from './summary.ts'

export const report = defineCommand({
  name: 'report',
  summary: 'Show what became of each row of a batch',
  examples: ['batch report b_1hq3v9k7s2m4xa', 'batch report b_1hq3v9k7s2m4xa --failed --json'],
  args: batchArgument,
  options: { failed: flag('--failed', 'The rows that failed alone') },
  run: async (ctx, { args, options }) => {
    const { header, rows, results } = await readHistory(ctx.at, args.id)
    const wanted =
      rows.length > 0
        ? rows
        : [...results.values()].map(({ row, uid }) => ({ row, uid, redirectUrl: undefined }))
    for (const { row, uid, redirectUrl } of wanted) {
      const result = results.get(row)
      if (options.failed && result?.status !== 'failed') continue
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
    return exitCodes.done
  },
})
