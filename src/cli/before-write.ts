import type { CliContext } from './context.ts'
import { UsageError } from './errors.ts'
import { clean } from './io/text.ts'

/** @throws UsageError where a protected context is in force, and its name is not given */
export const confirmContext = async ({ config, flags, prompts }: CliContext): Promise<void> => {
  const { contextName, isProtected, origin, url } = config()
  const { confirm } = flags
  if (confirm !== undefined && confirm !== contextName)
    throw new UsageError(
      `--confirm names the context "${confirm}", and this would go to ${url} (${origin}). Nothing was sent.`,
      `If "${confirm}" is meant: --context ${confirm}`,
    )
  if (!isProtected || confirm === contextName) return
  const why = `The context "${contextName}" is protected.`
  if (!prompts.possible)
    throw new UsageError(
      `${why} Nothing was sent.`,
      `To change something there, say its name: --confirm ${contextName}`,
    )
  await prompts.confirmByName(false, why, {
    what: 'its name',
    is: (typed) => typed === contextName,
  })
}

/** Says which daemon, context and team a command is about to change. */
export const tellTarget = async (ctx: CliContext, code: string | undefined): Promise<void> => {
  if (ctx.flags.quiet) return
  const { url, origin } = ctx.config()
  const team = await teamName(ctx, code)
  ctx.io.note(clean(`At ${url} (${origin})${team === undefined ? '' : `, team ${team}`}`))
}

/**
 * That of the API key, unless the command names one: an admin token alone needs none where there is but one. A code
 * is for the team of its chip, whatever our key says.
 */
const teamName = async (ctx: CliContext, code: string | undefined): Promise<string | undefined> => {
  if (ctx.flags.team !== undefined) return ctx.flags.team
  if (code !== undefined || ctx.config().apiKey === undefined) return undefined
  try {
    return (await ctx.call('GET /team')).name
  } catch {
    // Whatever is wrong with the key or the daemon, the request that this is about will tell.
    return undefined
  }
}
