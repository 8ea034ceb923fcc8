import { defineCommand } from '../../command/define.ts'
import { team, text } from '../../command/options.ts'
import { shellQuoted } from '../../io/text.ts'
import { findGroup, groupArgument, printGroup } from './group.ts'

export const rename = defineCommand({
  name: 'rename',
  summary: 'Rename a chip group',
  examples: ['chip-groups rename Jackets --name "Jackets 2026"'],
  args: groupArgument,
  options: { name: text('--name <name>', 'Its new name'), team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'New name' })
    const { id } = await findGroup(ctx, args.group, options.team)
    const group = await ctx.call('PATCH /admin/chip-groups/:id', { params: { id }, body: { name } })
    await printGroup(ctx, group)
    ctx.io.hint(`See its chips: tapchip chips list --chip-group ${shellQuoted(group.name)}`)
  },
})
