import { defineCommand } from '../../command/define.ts'
import { optionalArgument, team, text } from '../../command/options.ts'
import { shellQuoted } from '../../io/text.ts'
import { printGroup } from './group.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Create a chip group',
  examples: ['chip-groups create Jackets', 'chip-groups create --name Jackets --team Acme --json'],
  args: { name: optionalArgument('name', 'Its name') },
  options: { name: text('--name <name>', 'The same, as a flag'), team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(args.name ?? options.name, {
      flag: '--name',
      message: 'Name of the group',
    })
    const group = await ctx.call('POST /admin/chip-groups', { body: { name, team: options.team } })
    await printGroup(ctx, group)
    ctx.io.hint(
      `Fill it: tapchip chips import --file chips.csv --chip-group ${shellQuoted(group.name)} --key-set ID`,
    )
  },
})
