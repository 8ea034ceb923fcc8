import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { bothForms, isSameUid, uidOnWire } from '../../uid.ts'
import { chipUid } from '../chip-handle.ts'
import { uidArgument } from './chip.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a chip from the register',
  description:
    'Remove a chip from the register, with its label, redirect and links. The record of its taps is kept, and if ' +
    'the chip is registered again, its counter continues. For a lost or stolen chip: chips disable.',
  examples: ['chips remove 04:98:93:CA:AA:11:90'],
  args: uidArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const uid = await chipUid(ctx, args.uid)
    const params = { uid: uidOnWire(uid) }
    await ctx.prompts.confirmByName(
      options.yes,
      `Remove chip ${bothForms(uid)}? Its links are deleted; the record of its taps is kept.`,
      { what: 'its UID', is: (typed) => isSameUid(typed, uid) },
    )
    await ctx.io.one(await ctx.call('DELETE /admin/chips/:uid', { params }), () => ({
      Removed: bothForms(uid),
    }))
    ctx.io.hint(`See its taps: tapchip taps list --uid ${args.uid}`)
  },
})
