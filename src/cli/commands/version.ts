import { createContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import type { Surroundings } from '../surroundings.ts'

/** A version is asked for in a hurry. */
const patienceMs = 400

/** Ours, and the daemon's when it answers at once. */
export const printVersion = async (at: Surroundings, args: readonly string[]): Promise<ExitCode> => {
  const json = args.includes('--json')
  const ctx = createContext(at, {
    json,
    quiet: false,
    color: false,
    input: false,
    dryRun: false,
    timeoutSeconds: patienceMs / 1000,
  })
  try {
    const daemon = await daemonVersion(ctx)
    const version = __TAPCHIP_VERSION__
    const theirs = daemon === undefined ? '' : `tapchipd ${daemon.version} (${daemon.url})\n`
    await ctx.io.raw(
      json ? `${JSON.stringify({ version, daemon: daemon ?? null })}\n` : `tapchip ${version}\n${theirs}`,
    )
    if (daemon !== undefined && daemon.version.split('.')[0] !== version.split('.')[0]) {
      ctx.io.warn(`The daemon is of another version (${daemon.version}): update the older one.`)
    }
    await ctx.io.flush()
    return exitCodes.done
  } finally {
    ctx.close()
  }
}

const daemonVersion = async (ctx: ReturnType<typeof createContext>) => {
  try {
    if (!ctx.config().adminToken()) return undefined
    const { version } = await ctx.call('GET /admin/status')
    return { version, url: ctx.config().url }
  } catch {
    // Not running, or not ours: the question was about this program first.
    return undefined
  }
}
