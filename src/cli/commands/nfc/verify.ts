import { defineCommand } from '../../command/define.ts'
import { CliError, exitCodes } from '../../errors.ts'
import { describeUid, describeVerdict, judge } from '../../nfc/judge.ts'
import { familyNames, readNextCard, warningsOf, whyNoTap } from '../../nfc/read-card.ts'
import { cardTimeoutMs, readerOption, untilInterrupted, withReaders } from '../../nfc/readers.ts'

export const verify = defineCommand({
  name: 'verify',
  summary: 'Read a chip, and ask the daemon whether the tap is valid',
  description:
    'Read a chip, and ask the daemon whether the tap is valid, which uses it up. The exit code is 1 if it is not. ' +
    '--timeout says how long to wait for a chip (default: 30 seconds).',
  examples: ['nfc verify', 'nfc verify --json | jq -e .isValidTap'],
  options: { reader: readerOption },
  run: (ctx, { options }) =>
    untilInterrupted(ctx, (signal) =>
      withReaders(ctx, { reader: options.reader }, async (opened) => {
        const chip = await readNextCard(ctx, opened, { timeoutMs: cardTimeoutMs(ctx), signal })
        const empty = whyNoTap(chip)
        if (empty !== undefined) throw new CliError(empty, { advice: 'Set it up: tapchip nfc provision' })
        for (const warning of warningsOf(chip)) ctx.io.warn(`Warning: ${warning}`)
        const verdict = await judge(ctx, chip)
        await ctx.io.one({ ...chip, ...verdict }, ({ reader, family, url }) => ({
          Reader: reader,
          Family: familyNames[family],
          URL: url,
          UID: describeUid(verdict),
          'Valid tap': verdict.isValidTap,
        }))
        if (!ctx.io.json) ctx.io.note(await describeVerdict(ctx, verdict, chip.url ?? ''))
        return verdict.isValidTap ? exitCodes.done : exitCodes.failed
      }),
    ),
})
