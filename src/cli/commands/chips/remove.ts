import { uidOnWire } from '../../../nfc/uid.ts'
import { wantsBatch } from '../../batch/input/flags.ts'
import { changedIn } from '../../batch/plan.ts'
import { defineCommand } from '../../command/define.ts'
import { counted } from '../../io/text.ts'
import { bothForms, isSameUid } from '../../uid.ts'
import { applyToChips, chipArguments, chooseChips, manyFlags } from './many.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove chips from the register',
  description:
    'Remove chips from the register, with their labels, redirects and links. The record of their taps is kept, and if ' +
    'a chip is registered again, its counter continues. For lost or stolen chips: chips disable.',
  examples: [
    'chips remove 04:98:93:CA:AA:11:90',
    'chips remove --chip-group "Box 7" --dry-run',
    'chips remove --label "Coat 7" --label "Coat 8" --yes',
  ],
  args: chipArguments,
  options: manyFlags,
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { yes } = options
    const chosen = await chooseChips(ctx, args.chips, options)
    if (chosen === undefined) return
    if (!chosen.isNamed || wantsBatch(options))
      return applyToChips(
        ctx,
        chosen,
        { cells: {}, remove: 'always' },
        {
          ...{ verb: 'remove', options },
          ask: (totals) =>
            ctx.prompts.confirmByName(
              yes,
              `Remove ${counted(changedIn(totals), 'chip')} (${chosen.described})? Their links are deleted; the record of their taps is kept.`,
              {
                what: 'their number',
                is: (typed) => typed.replaceAll(',', '') === String(changedIn(totals)),
              },
            ),
        },
      )
    const [uid = ''] = chosen.uids
    await ctx.prompts.confirmByName(
      yes,
      `Remove chip ${bothForms(uid)}? Its links are deleted; the record of its taps is kept.`,
      { what: 'its UID', is: (typed) => isSameUid(typed, uid) },
    )
    const params = { uid: uidOnWire(uid) }
    await ctx.io.one(await ctx.call('DELETE /admin/chips/:uid', { params }), () => ({
      Removed: bothForms(uid),
    }))
    ctx.io.hint(`See its taps: tapchip taps list --uid ${uid}`)
    return undefined
  },
})
