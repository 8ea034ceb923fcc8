import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import type { InspectedChip } from '../../nfc/forward-apdus.ts'
import { printResult, runOnChip } from '../../nfc/one-chip.ts'
import { ownersKeys } from '../../nfc/owners-keys.ts'
import { readerOption } from '../../nfc/readers.ts'
import { colons, isSameUid, readUid } from '../../uid.ts'

export const reset = defineCommand({
  name: 'reset',
  summary: 'Reset a chip to its factory state',
  description:
    'Reset a chip to its factory state: its URL is erased, and its keys are those of a new chip. A chip of this ' +
    'daemon stays registered. A chip of another system needs its five keys: --keys takes { "k0": …, "k4": … } or five ' +
    'lines of hex, as the wipe files of other tools have them. A wrong key is found by a tap before any is tried, where ' +
    'the chip shows one. --timeout says how long to wait for the chip (default: 30 seconds).',
  examples: [
    'nfc reset',
    'nfc reset --yes --json',
    'nfc reset --keys wipe.json',
    'nfc reset --keys wipe.json --uid 04:98:93:CA:AA:11:90 --yes --json',
  ],
  options: {
    keys: text('--keys <file>', 'The five keys of a chip that another system set up', 'file'),
    uid: text('--uid <uid>', 'Refuse another chip than this one'),
    tryFactoryKeys: flag(
      '--try-factory-keys',
      'Try the public keys of blank chips, whatever the key versions say',
    ),
    yes,
    reader: readerOption,
  },
  run: async (ctx, { options }) => {
    if (!options.yes && !ctx.prompts.possible && !ctx.flags.dryRun)
      throw new UsageError('A reset erases the chip, and its taps become invalid. Confirm with --yes')
    let known: InspectedChip | undefined
    const { tryFactoryKeys } = options
    const uid = options.uid === undefined ? undefined : readUid(options.uid)
    const chosen = await ownersKeys(ctx, options.keys, uid)
    const order = { purpose: 'reset', waitForDetails: true, tryFactoryKeys, ...chosen } as const
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
