import { failedFlag } from '../../batch/failed-file.ts'
import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { rateFlag } from '../../batch/pace.ts'
import { asEther } from '../../batch/token-words.ts'
import {
  addProblems,
  checkTransfers,
  refuseUnpayable,
  showCheck,
  warnOfLimits,
} from '../../batch/transfer-check.ts'
import { readTransfers, transferColumns, transferNeeded } from '../../batch/transfer-input.ts'
import { startTransfers } from '../../batch/transfer-run.ts'
import { type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes } from '../../errors.ts'
import { counted } from '../../io/text.ts'

/** What a transfer of many takes. */
export const transferFileFlags = { ...sheetFlags, ...rateFlag, ...failedFlag, yes }

/** Transfers the tokens of a sheet: all of it is checked, by the chain too, before the first is sent. */
export const transferByFile = async (
  ctx: CliContext,
  file: string,
  options: Values<typeof transferFileFlags>,
): Promise<ExitCode> => {
  ctx.needApiKey()
  const settings = sheetOptions(options, transferColumns, transferNeeded)
  const { input, rows, problems } = await readTransfers(ctx, file, settings, options.yes)
  if (rows.length === 0) {
    problems.refuse(input.name)
    ctx.io.note(`${input.name} holds no rows. Nothing to do.`)
    return exitCodes.done
  }
  const check = await problems.withAnswers(input.name, async () => {
    const found = await checkTransfers(ctx, rows)
    addProblems(found, problems)
    return found
  })
  if (ctx.flags.dryRun) return showCheck(ctx, rows, check)
  warnOfLimits(ctx, check)
  refuseUnpayable(check)
  const moving = [...check.rows.values()].filter(({ status }) => status === 'transfer' || status === 'mint')
  const sum = check.totals.reduce((all, { cost }) => all + BigInt(cost), 0n)
  const price = `It takes up to ${asEther(sum)} ether, and cannot be taken back.`
  // What is where it should be already is not sent: there is nothing to be sure of.
  if (moving.length > 0)
    await ctx.prompts.confirm(options.yes, `Transfer ${counted(moving.length, 'token')}? ${price}`)
  return startTransfers(ctx, { input, rows, check, rate: options.rate, failedFile: options.failed })
}
