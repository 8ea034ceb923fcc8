import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { defaultUrl } from '../../config.ts'
import { readConfigFile, writeConfigFile } from '../../config-file.ts'
import { assertExists, contextArgument } from './use.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a context and its keys',
  examples: ['context remove prod'],
  args: contextArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    const file = readConfigFile(ctx.system)
    assertExists(file, args.name)
    await ctx.prompts.confirm(options.yes, `Remove the context "${args.name}" and its keys?`)
    await ctx.beforeChange(`Would remove the context "${args.name}"`)
    const contexts = Object.fromEntries(Object.entries(file.contexts).filter(([name]) => name !== args.name))
    writeConfigFile(ctx.system, { current: file.current === args.name ? undefined : file.current, contexts })
    await ctx.io.one({ removed: args.name }, (it) => ({ Removed: it.removed }))
    if (file.current === args.name) {
      ctx.io.note(
        `It was the current context: commands without --context now go to ${ctx.system.env.TAPCHIP_URL || defaultUrl}.`,
      )
    }
    ctx.io.hint('See what is left: tapchip context list')
  },
})
