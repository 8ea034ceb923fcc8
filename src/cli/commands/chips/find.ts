import { defineCommand } from '../../command/define.ts'
import { optionalArgument, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { hasMac, parametersIn } from '../../tap-url.ts'
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
    const query = url === '' ? { e, c, d } : queryOf(url)
    const found = await ctx.call('GET /chips/find', { query })
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
      ctx.io.note('Not a valid tap: its URL was used before, or belongs to another chip. Tap again.')
  },
})

/** All parameters are passed on: their names depend on the key set. */
const queryOf = (text: string): Record<string, string> => {
  if (!URL.canParse(text))
    throw new UsageError(`"${text}" is not a tap URL.`, "Give the whole URL in quotes: '…/t?d=101&e=…&c=…'")
  const query = Object.fromEntries(parametersIn(text))
  const [only = '', ...others] = Object.values(query)
  // One parameter may hold everything, but one mirror alone is what a shell leaves of a tap.
  if (others.length === 0 && (!hasMac(text) || /^[0-9A-F]{32}$/i.test(only))) {
    throw new UsageError('The tap URL has lost its parameters.', 'Put it in quotes: a shell cuts it at &.')
  }
  return query
}
