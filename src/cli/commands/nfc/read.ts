import { defineCommand } from '../../command/define.ts'
import { familyNames, readNextCard, warningsOf, whyNoTap } from '../../nfc/read-card.ts'
import { cardTimeoutMs, readerOption, untilInterrupted, withReaders } from '../../nfc/readers.ts'

export const read = defineCommand({
  name: 'read',
  summary: 'Read once what a chip shows when it is tapped',
  description:
    'Read what a chip shows when it is tapped: its URL, with e, c and d if it has them. This is a tap, and uses one count; ' +
    'the daemon is not involved. --timeout says how long to wait for a chip (default: 30 seconds).',
  examples: ['nfc read', 'nfc read --json | jq -r .url', 'nfc read --reader ACR1252 --timeout 5'],
  options: { reader: readerOption },
  run: (ctx, { options }) =>
    untilInterrupted(ctx, (signal) =>
      withReaders(ctx, { reader: options.reader }, async (opened) => {
        const chip = await readNextCard(ctx, opened, { timeoutMs: cardTimeoutMs(ctx), signal })
        await ctx.io.one(chip, ({ reader, family, url, e, c, d }) => ({
          Reader: reader,
          Family: familyNames[family],
          URL: url,
          ...(e === null ? {} : { e, c, d }),
        }))
        for (const warning of warningsOf(chip)) ctx.io.warn(`Warning: ${warning}`)
        const empty = whyNoTap(chip)
        if (empty === undefined) ctx.io.hint('Check that it is genuine: tapchip nfc verify')
        else ctx.io.note(`${empty} Set it up: tapchip nfc provision`)
      }),
    ),
})
