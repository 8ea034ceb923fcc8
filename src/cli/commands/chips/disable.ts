import { uidOnWire } from '../../../nfc/uid.ts'
import { wantsBatch } from '../../batch/input/flags.ts'
import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { shellQuoted } from '../../io/text.ts'
import { printChip } from './chip.ts'
import { applyToChips, chipArguments, chooseChips, manyFlags } from './many.ts'

export const disable = defineCommand({
  name: 'disable',
  summary: 'Disable lost or stolen chips, whose taps, refs and codes become invalid',
  examples: [
    'chips disable 04:98:93:CA:AA:11:90 --reason "stolen in transit"',
    'chips disable 1293660434600336 --yes',
    'chips disable --chip-group "Box 7" --reason "stolen in transit"',
    'chips disable --where item=jacket --where linked=false --dry-run',
  ],
  args: chipArguments,
  options: { reason: text('--reason <text>', 'Why, for the record'), ...manyFlags },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { reason, yes } = options
    const chosen = await chooseChips(ctx, args.chips, options)
    if (chosen === undefined) return
    const [uid = ''] = chosen.uids
    if (!chosen.isNamed || wantsBatch(options))
      return applyToChips(
        ctx,
        chosen,
        { cells: { disabled: true } },
        {
          ...{ verb: 'disable', options, settings: { reason } },
          question: (chips) => `Disable ${chips} (${chosen.described})?`,
        },
      )
    await ctx.prompts.confirm(ctx.prompts.named(yes), `Disable chip ${chosen.handle}?`)
    const params = { uid: uidOnWire(uid) }
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/disable', { params, body: { reason } }))
    ctx.io.hint(`Undo it: tapchip chips enable ${shellQuoted(chosen.handle)}`)
    return undefined
  },
})
