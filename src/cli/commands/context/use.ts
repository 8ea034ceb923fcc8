import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'
import { type ConfigFile, readConfigFile, writeConfigFile } from '../../config-file.ts'
import { UsageError } from '../../errors.ts'

export const contextArgument = { name: argument('name', 'The name of the context', 'context') }

export const assertExists = (file: ConfigFile, name: string): void => {
  if (Object.hasOwn(file.contexts, name)) return
  throw new UsageError(`There is no context "${name}".`, 'List them: tapchip context list')
}

export const use = defineCommand({
  name: 'use',
  summary: 'Make a context the current one',
  examples: ['context use prod'],
  args: contextArgument,
  run: async (ctx, { args }) => {
    const file = readConfigFile(ctx.system)
    assertExists(file, args.name)
    await ctx.beforeChange(`Would make "${args.name}" the current context`)
    writeConfigFile(ctx.system, { ...file, current: args.name })
    await ctx.io.one({ current: args.name }, (it) => ({ Current: it.current }))
    ctx.io.hint(
      ctx.system.env.TAPCHIP_URL
        ? 'TAPCHIP_URL is set, and takes precedence.'
        : 'Check the connection and the keys: tapchip doctor',
    )
  },
})
