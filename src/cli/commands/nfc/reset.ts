import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import type { InspectedChip } from '../../nfc/forward-apdus.ts'
import { printResult, runOnChip } from '../../nfc/one-chip.ts'
import { readerOption } from '../../nfc/readers.ts'
import { colons, isSameUid } from '../../uid.ts'

export const reset = defineCommand({
  name: 'reset',
  summary: 'Reset a chip to its factory state',
  description:
    'Reset a chip to its factory state: its URL is erased, and its keys are those of a new chip. It must ' +
    'have keys of this daemon. It stays registered. --timeout says how long to wait for the chip (default: 30 seconds).',
  examples: ['nfc reset', 'nfc reset --yes --json'],
  options: { yes, reader: readerOption },
  run: async (ctx, { options }) => {
    if (!options.yes && !ctx.prompts.possible && !ctx.flags.dryRun)
      throw new UsageError('A reset erases the chip, and its taps become invalid. Confirm with --yes')
    let known: InspectedChip | undefined
    const order = { purpose: 'reset', waitForDetails: true } as const
    const result = await runOnChip(ctx, { reader: options.reader }, order, async (chip) => {
      // Ask once, even if the card lost contact for a moment.
      if (known?.uid === chip.uid) return {}
      const label = chip.registered?.label
      const named = label ? `${colons(chip.uid)} (${label})` : colons(chip.uid)
      await ctx.prompts.confirmByName(
        options.yes,
        `Reset the chip ${named} to its factory state? Leave it on the reader.`,
        { what: 'its UID', is: (typed) => isSameUid(typed, chip.uid) },
      )
      known = chip
      return {}
    })
    const code = await printResult(ctx, result)
    if (result.status === 'factory' && known?.registered)
      ctx.io.hint(`It is still registered. To remove it: tapchip chips remove ${known.uid}`)
    return code
  },
})
