import { defineCommand } from '../../command/define.ts'
import { team, text } from '../../command/options.ts'
import { printGroup } from './group.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Create a chip group',
  examples: ['chip-groups create --name Jackets', 'chip-groups create --name Jackets --team Acme --json'],
  options: { name: text('--name <name>', 'Its name'), team },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'Name of the group' })
    const group = await ctx.call('POST /admin/chip-groups', { body: { name, team: options.team } })
    await printGroup(ctx, group)
    ctx.io.note('Fill it: tapchip chips import --file chips.csv --chip-group NAME --key-set ID')
  },
})
