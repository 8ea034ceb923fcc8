import { defineCommand } from '../../command/define.ts'
import { text, yes } from '../../command/options.ts'
import { chipOnWire } from '../chip-handle.ts'
import { chipParams, fieldsOfChip, uidArgument } from './chip.ts'

export const replace = defineCommand({
  name: 'replace',
  summary: 'Move everything from a chip to another registered chip, and disable the first',
  examples: ['chips replace 04:98:93:CA:AA:11:90 --with 04:DE:5F:1E:AC:C0:40'],
  args: uidArgument,
  options: { with: text('--with <uid>', 'The chip that takes its place'), yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const params = await chipParams(ctx, args.uid)
    const replacement = await ctx.prompts.text(options.with, {
      flag: '--with',
      message: 'UID of the chip that takes its place',
    })
    const other = await chipOnWire(ctx, replacement, '--with')
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Replace chip ${args.uid} with ${replacement}, and disable it?`,
    )
    const replaced = await ctx.call('POST /admin/chips/:uid/replace', { params, body: { with: other } })
    await ctx.io.one(replaced, ({ status, ...chip }) => ({ Status: status, ...fieldsOfChip(chip) }))
    ctx.io.hint(`See the new chip: tapchip chips show ${replacement}`)
  },
})
