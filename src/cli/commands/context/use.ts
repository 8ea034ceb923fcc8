import { defineCommand } from '../../command/define.ts'
import { readConfigFile, writeConfigFile } from '../../config-file.ts'
import { contextArgument, mustExist } from './stored.ts'

export const use = defineCommand({
  name: 'use',
  summary: 'Make a context the current one',
  examples: ['context use prod'],
  args: contextArgument,
  run: async (ctx, { args }) => {
    const file = readConfigFile(ctx.at)
    mustExist(file, args.name)
    await ctx.beforeChange(`Would make "${args.name}" the current context`)
    writeConfigFile(ctx.at, { ...file, current: args.name })
    await ctx.io.one({ current: args.name }, (it) => ({ Current: it.current }))
    ctx.io.hint(
      ctx.at.env.TAPCHIP_URL
        ? 'TAPCHIP_URL is set, and beats it.'
        : 'Does it answer, and are the keys good? tapchip doctor',
    )
  },
})
