import { parametersIn, readTapUrl, whyNoTap } from '../../../nfc/tap-url.ts'
import { defineCommand } from '../../command/define.ts'
import { optionalArgument, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'
import { explainTap, isUnknownChip } from '../../nfc/judge.ts'
import { bothForms } from '../../uid.ts'
import { token } from '../token.ts'

export const find = defineCommand({
  name: 'find',
  summary: 'Verify a tap, which uses it up',
  examples: [
    "chips find 'http://127.0.0.1:8484/t?d=101&e=…&c=…'",
    'chips find --e EF96…08B --c 94EE…D6F --d 101 --json',
  ],
  args: { url: optionalArgument('tap-url', 'The URL that the chip showed') },
  options: {
    e: text('--e <hex>', 'The encrypted UID and counter'),
    c: text('--c <hex>', 'The MAC'),
    d: text('--d <number>', 'The key set'),
  },
  run: async (ctx, { args, options }) => {
    const { e, c, d } = options
    if (args.url !== undefined && (e ?? c ?? d) !== undefined)
      throw new UsageError('Use a tap URL or --e, --c and --d, not both.')
    const tapUrl = e === undefined && c === undefined ? args.url : ''
    const url = await ctx.prompts.text(tapUrl, {
      flag: 'A tap URL (or --e, --c and --d)',
      message: 'Tap URL',
    })
    const query = url === '' ? { e, c, d } : queryOf(ctx, url)
    const found = await ctx.call('GET /chips/find', { query }).catch(async (error: unknown) => {
      if (!isUnknownChip(error)) throw error
      throw new CliError((await explainTap(ctx, query)) ?? error.message, { cause: error })
    })
    await ctx.io.one(found, (chip) => ({
      UID: bothForms(chip.uid),
      'Valid tap': chip.isValidTap,
      Token: token(chip.linkedToken),
      OTP: chip.otp?.code,
      'OTP expires': chip.otp?.expiresAt,
      'Badge event': chip.badgeEvent?.id,
      'Codes left': chip.badgeEvent?.remainingCodesCount,
    }))
    if (found.otp) ctx.io.hint('See what the code is for and when it expires: tapchip otps show CODE')
    else if (!found.isValidTap)
      ctx.io.note(
        `Not a valid tap. ${(await explainTap(ctx, query)) ?? 'Its URL was used before, or is not one of this chip. Tap again.'}`,
      )
  },
})

/** All parameters are passed on: their names depend on the key set. */
const queryOf = (ctx: CliContext, text: string): Record<string, string> => {
  const read = readTapUrl(text)
  if ('problem' in read) throw new UsageError(read.problem)
  const problem = whyNoTap(read.text, true)
  if (problem !== undefined) throw new UsageError(problem)
  for (const warning of read.warnings) ctx.io.warn(`Warning: ${warning}`)
  return Object.fromEntries(parametersIn(read.text))
}
