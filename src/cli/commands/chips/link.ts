import { uidOnWire } from '../../../nfc/uid.ts'
import { wantsBatch } from '../../batch/input/flags.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { shellQuoted } from '../../io/text.ts'
import { hasTokenOptions, readToken, tokenFlags } from '../token.ts'
import { printChip } from './chip.ts'
import { applyToChips, chipArguments, chooseChips, manyFlags } from './many.ts'

export const link = defineCommand({
  name: 'link',
  summary: 'Link chips to a token, to an item, or to both',
  examples: [
    'chips link 04:98:93:CA:AA:11:90 --item jacket --variant s',
    'chips link 04:98:93:CA:AA:11:90 --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7',
    'chips link --chip-group "Box 7" --where item= --item jacket --dry-run',
  ],
  args: chipArguments,
  options: {
    ...tokenFlags,
    item: text('--item <id>', 'The item'),
    variant: text('--variant <id>', 'Its variant'),
    ...manyFlags,
  },
  run: async (ctx, { args, options }) => {
    const { item, variant } = options
    const token = hasTokenOptions(options) ? readToken(options) : undefined
    if (variant !== undefined && item === undefined)
      throw new UsageError('--item is missing: a variant belongs to an item.')
    if (token === undefined && item === undefined)
      throw new UsageError('Specify what to link: --item, or --contract-address, --chain-id and --token-id.')
    ctx.needAdmin()
    const chosen = await chooseChips(ctx, args.chips, options)
    if (chosen === undefined) return
    const linked = item === undefined ? {} : { item, variant: variant ?? null }
    if (!chosen.isNamed || wantsBatch(options))
      return applyToChips(
        ctx,
        chosen,
        { cells: { ...token, ...linked } },
        {
          ...{ verb: 'link', options },
          question: (chips, does) => `Link ${chips} (${chosen.described})${does}?`,
        },
      )
    const [uid = ''] = chosen.uids
    const request = { params: { uid: uidOnWire(uid) }, body: { token, item, variant } }
    await printChip(ctx, await ctx.call('POST /admin/chips/:uid/link', request))
    ctx.io.hint(
      `Undo it: tapchip chips unlink ${shellQuoted(chosen.handle)}${token ? ' --token' : ''}${item === undefined ? '' : ' --item'}`,
    )
    return undefined
  },
})

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
