import { execFile } from 'node:child_process'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { clean } from '../../io/text.ts'
import { type Scope, type Service, systemctl as typed, unitName } from '../../local-daemon.ts'

interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Does not throw. @returns code 127 if there is no such program */
export const runProgram = (
  ctx: CliContext,
  program: string,
  args: readonly string[],
): Promise<CommandResult> =>
  new Promise((resolve) => {
    const options = { env: { ...ctx.system.env, LC_ALL: 'C' }, maxBuffer: 16 * 1024 * 1024 }
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 127
      resolve({ code, stdout, stderr: stderr || (error?.message ?? '') })
    })
  })

export const runSystemctl = (ctx: CliContext, scope: Scope, ...args: string[]): Promise<CommandResult> =>
  runProgram(ctx, 'systemctl', [...(scope === 'user' ? ['--user'] : []), ...args])

/** @throws CliError if systemctl fails */
export const requireSystemctl = async (ctx: CliContext, scope: Scope, ...args: string[]): Promise<void> => {
  const { code, stderr } = await runSystemctl(ctx, scope, ...args)
  if (code === 0) return
  throw new CliError(`${typed({ scope })} ${args.join(' ')} failed: ${lastLine(stderr)}`, {
    advice: `See why: ${typed({ scope })} status ${unitName}`,
  })
}

const lastLine = (text: string): string => clean(text.trim().split('\n').at(-1) ?? '')

/** @throws CliError if the service manager of that scope does not run */
export const assertSystemd = async (ctx: CliContext, scope: Scope): Promise<void> => {
  const { code, stderr } = await runSystemctl(ctx, scope, 'show', '--property=Version')
  if (code === 0) return
  const manager = scope === 'user' ? "systemd's manager for this user" : 'systemd'
  const why = code === 127 ? 'there is no systemctl' : lastLine(stderr)
  const advice =
    scope === 'user' && code !== 127
      ? 'Log in as this user (ssh or machinectl shell, not su), or install a system service as root.'
      : 'In a container, let it run tapchipd in the foreground. Elsewhere: tapchip daemon start, from your own init.'
  throw new CliError(`${manager} does not run here (${why}), so there is no service.`, {
    advice: `${advice} To see the unit: tapchip daemon install --dry-run`,
  })
}

export interface ServiceState {
  readonly scope: Scope
  readonly unit: string
  /** Starts with the machine, or at login. */
  readonly enabled: boolean
  /** systemd's ActiveState: active, activating, failed, … */
  readonly active: string
}

export const stateOf = async (ctx: CliContext, { scope }: Service): Promise<ServiceState> => {
  const [enabled, active] = await Promise.all([
    runSystemctl(ctx, scope, 'is-enabled', unitName),
    runSystemctl(ctx, scope, 'is-active', unitName),
  ])
  return { scope, unit: unitName, enabled: enabled.code === 0, active: active.stdout.trim() || 'unknown' }
}
