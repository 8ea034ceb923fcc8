import { createContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import type { System } from '../system.ts'

/** People ask for a version in a hurry. */
const timeoutMs = 400

export const printVersion = async (system: System, args: readonly string[]): Promise<ExitCode> => {
  const json = args.includes('--json')
  const ctx = createContext(system, {
    json,
    quiet: false,
    color: false,
    input: false,
    dryRun: false,
    timeoutSeconds: timeoutMs / 1000,
  })
  try {
    const daemon = await daemonVersion(ctx)
    const version = __TAPCHIP_VERSION__
    const commit = (typeof __TAPCHIP_COMMIT__ === 'string' && __TAPCHIP_COMMIT__) || null
    const daemonLine = daemon === undefined ? '' : `tapchipd ${daemon.version} (${daemon.url})\n`
    await ctx.io.raw(
      json
        ? `${JSON.stringify({ version, commit, daemon: daemon ?? null })}\n`
        : `tapchip ${version}${commit === null ? '' : ` (${commit})`}\n${daemonLine}`,
    )
    if (daemon !== undefined && seriesOf(daemon.version) !== seriesOf(version)) {
      ctx.io.warn(
        `The daemon has a different version (${daemon.version}) and may not understand this program: update the older one.`,
      )
    }
    await ctx.io.flush()
    return exitCodes.done
  } finally {
    ctx.close()
  }
}

/** Compatible versions share this: 1, and before that 0.1, 0.2, … */
const seriesOf = (version: string): string => /^(0\.\d+|\d+)/.exec(version)?.[0] ?? version

const daemonVersion = async (ctx: ReturnType<typeof createContext>) => {
  try {
    if (!ctx.config().hasCredential()) return undefined
    const { version } = await ctx.call('GET /admin/status')
    return { version, url: ctx.config().url }
  } catch {
    // No Tapchip daemon there; print only the version of this program.
    return undefined
  }
}
