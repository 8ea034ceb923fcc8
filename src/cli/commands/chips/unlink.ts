import { uidOnWire } from '../../../nfc/uid.ts'
import { wantsBatch } from '../../batch/input/flags.ts'
import { defineCommand } from '../../command/define.ts'
import { flag } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import { printChip } from './chip.ts'
import { applyToChips, chipArguments, chooseChips, manyFlags } from './many.ts'

export const unlink = defineCommand({
  name: 'unlink',
  summary: 'Remove the token, the item, or both from chips',
  examples: [
    'chips unlink 04:98:93:CA:AA:11:90 --token',
    'chips unlink 04:98:93:CA:AA:11:90 --token --item --yes',
    'chips unlink --where item=jacket --where linked=false --item',
  ],
  args: chipArguments,
  options: {
    token: flag('--token', 'Remove the token'),
    item: flag('--item', 'Remove the item'),
    ...manyFlags,
  },
  run: async (ctx, { args, options }) => {
    const { token, item, yes } = options
    if (!token && !item) throw new UsageError('Specify what to remove: --token, --item, or both.')
    ctx.needAdmin()
    const chosen = await chooseChips(ctx, args.chips, options)
    if (chosen === undefined) return
    if (!chosen.isNamed || wantsBatch(options)) {
      const cells = {
        ...(token ? { contractAddress: null, chainId: null, tokenId: null } : {}),
        ...(item ? { item: null, variant: null } : {}),
      }
      return applyToChips(
        ctx,
        chosen,
        { cells },
        {
          ...{ verb: 'unlink', options },
          question: (chips) => `Unlink ${chips} (${chosen.described})?`,
        },
      )
    }
    const [uid = ''] = chosen.uids
    await ctx.prompts.confirm(ctx.prompts.named(yes), `Unlink chip ${chosen.handle}?`)
    const request = { params: { uid: uidOnWire(uid) }, body: { token, item } }
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/unlink', request))
    ctx.io.hint(`Link it again: tapchip chips link ${shellQuoted(chosen.handle)} --help`)
    return undefined
  },
})
