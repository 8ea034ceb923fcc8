import { uidOnWire } from '../../../nfc/uid.ts'
import { wantsBatch } from '../../batch/input/flags.ts'
import { defineCommand } from '../../command/define.ts'
import { shellQuoted } from '../../io/text.ts'
import { printChip } from './chip.ts'
import { applyToChips, chipArguments, chooseChips, manyFlags } from './many.ts'

export const enable = defineCommand({
  name: 'enable',
  summary: 'Enable disabled chips again',
  examples: [
    'chips enable 04:98:93:CA:AA:11:90',
    'chips enable --where chipGroup="Box 7" --where disabled=true',
  ],
  args: chipArguments,
  options: manyFlags,
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const chosen = await chooseChips(ctx, args.chips, options)
    if (chosen === undefined) return
    if (!chosen.isNamed || wantsBatch(options))
      return applyToChips(
        ctx,
        chosen,
        { cells: { disabled: false } },
        {
          ...{ verb: 'enable', options },
          question: (chips) => `Enable ${chips} (${chosen.described})?`,
        },
      )
    const [uid = ''] = chosen.uids
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/enable', { params: { uid: uidOnWire(uid) } }))
    ctx.io.hint(`See its taps: tapchip taps list --uid ${shellQuoted(chosen.handle)}`)
    return undefined
  },
})
