import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import { defineCommand } from '../command/define.ts'
import { operands, text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, UsageError } from '../errors.ts'
import { shellQuoted } from '../io/text.ts'
import { administering, apiKeyOf, readSeed, Stop, startTemporaryDaemon } from './temporary-daemon.ts'

export const verb = defineCommand({
  name: 'ci',
  summary: 'Run a command against a temporary daemon',
  description:
    'Start a daemon on a free port with the data of a seed file, run a command with TAPCHIP_URL, TAPCHIP_API_KEY and ' +
    'TAPCHIP_ADMIN_TOKEN set, stop the daemon, and exit as the command did: its exit code, 128 + N if signal N ended ' +
    'it, 126 or 127 if it could not be run. The API key is the first one in the seed, or a new one if the seed has none.',
  examples: ['ci --seed fixtures/demo.json -- npm test', "ci -- sh -c 'curl -fsS $TAPCHIP_URL/readyz'"],
  args: { command: operands('command', 'What to run, after --') },
  options: { seed: text('--seed <file>', 'A seed file: what the daemon starts with', 'file') },
  run: async (ctx, { args: { command }, options }) => {
    const [program, ...args] = command
    if (program === undefined)
      throw new UsageError(
        'There is no command to run.',
        'Write it after --: tapchip ci --seed FILE -- npm test',
      )
    const seed = options.seed && resolve(ctx.system.cwd, options.seed)
    const seeded = seed === undefined ? {} : readSeed(seed)
    await ctx.beforeChange(`Would start tapchipd --ephemeral and run ${command.map(shellQuoted).join(' ')}`)
    const stop = new Stop(ctx)
    const flags = ['--port', '0', ...(seed ? ['--seed', seed] : [])]
    const daemon = await startTemporaryDaemon(ctx, { flags, stop })
    try {
      const env = {
        ...ctx.system.env,
        TAPCHIP_URL: daemon.url,
        TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
        TAPCHIP_ADMIN_URL: daemon.admin,
        TAPCHIP_API_KEY: (await administering(daemon, (client) => apiKeyOf(client, seeded, 'ci'))).key,
      }
      ctx.io.note(`A daemon runs at ${daemon.url}.`)
      const code = await runCommand(ctx, { program, args, env, stop })
      if (daemon.child.exitCode !== null || daemon.child.signalCode !== null)
        ctx.io.warn('The daemon ended before the command did.')
      // Any number: it is the command's, not one of this program's.
      return code as ExitCode
    } finally {
      await daemon.end()
      stop.forget()
    }
  },
})

interface Running {
  readonly program: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly stop: Stop
}

/** @returns its exit code, as a shell gives it */
async function runCommand(ctx: CliContext, { program, args, env, stop }: Running): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env, cwd: ctx.system.cwd })
  // A terminal sends Ctrl-C to the command as well.
  stop.pass(child, ctx.system.stdin.isTTY ? 'SIGINT' : undefined)
  try {
    const [code, signal] = await once(child, 'exit')
    return code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    const why = isMissing ? 'there is no such command' : 'it is not an executable file'
    ctx.io.warn(`${program} cannot be run: ${why}.`)
    return isMissing ? 127 : 126
  }
}
