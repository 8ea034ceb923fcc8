import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'

export const rollRootToken = defineCommand({
  name: 'roll-root-token',
  summary: "Replace the root token in the daemon's data directory, and end the old one at once",
  description:
    "Replace the root token in the file admin.token of the daemon's data directory, which only its owner can read. The old " +
    'token ends at once, the daemon goes on, and the new one is not printed. A token that the environment or the ' +
    'configuration file sets is changed there.',
  examples: ['daemon roll-root-token', 'daemon roll-root-token --yes --json'],
  options: { yes },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const question = `Replace the root token of the daemon at ${ctx.config().url}? Whoever uses the old one is locked out.`
    await ctx.prompts.confirm(ctx.prompts.named(options.yes), question)
    await ctx.io.one(await ctx.call('POST /admin/root-token/roll'), ({ path }) => ({
      'New root token in': path,
    }))
    const isHere = ctx.config().adminUrl().startsWith('unix:')
    ctx.io.note(
      isHere
        ? 'Commands on this machine find it by themselves. Contexts that stored the old one need it anew: tapchip login --admin'
        : "The file is on the daemon's machine, where commands find it by themselves.",
    )
  },
})
