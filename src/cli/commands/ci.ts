import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { isJsonObject, type JsonObject, parseObject } from '../../values/json.ts'
import { defineCommand } from '../command/define.ts'
import { text, words } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, Interrupted, UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { clean, shellQuoted } from '../io/text.ts'

export const verb = defineCommand({
  name: 'ci',
  summary: 'Run a command against a fresh daemon, which ends with it',
  description:
    'Start a daemon on a free port with the data of a seed file, run a command with TAPCHIP_URL, TAPCHIP_API_KEY and ' +
    'TAPCHIP_ADMIN_TOKEN set, stop the daemon, and exit as the command did: its exit code, 128 + N if signal N ended ' +
    'it, 126 or 127 if it could not be run. The API key is the first one in the seed, or a new one if the seed has none.',
  examples: ['ci --seed fixtures/demo.json -- npm test', "ci -- sh -c 'curl -fsS $TAPCHIP_URL/readyz'"],
  args: { command: words('command', 'What to run, after --') },
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
    const daemon = await startDaemon(ctx, seed, stop)
    try {
      const env = {
        ...ctx.system.env,
        TAPCHIP_URL: daemon.url,
        TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
        TAPCHIP_ADMIN_URL: daemon.admin,
        TAPCHIP_API_KEY: await apiKey(daemon, seeded),
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

/** The first signal to end is passed on; the second ends this process at once, and the daemon notices. */
class Stop {
  signal: NodeJS.Signals | undefined
  readonly forget: () => void
  #reach: (signal: NodeJS.Signals) => void = () => undefined
  constructor(ctx: CliContext) {
    this.forget = ctx.system.interrupts.listen((signal) => {
      this.signal = signal
      this.#reach(signal)
    })
  }
  pass(to: ChildProcess, except?: NodeJS.Signals): void {
    this.#reach = (signal) => signal !== except && void to.kill(signal)
  }
}

interface OwnDaemon {
  readonly child: ChildProcess
  readonly url: string
  readonly admin: string
  readonly adminToken: string
  end(): Promise<void>
}

async function startDaemon(ctx: CliContext, seed: string | undefined, stop: Stop): Promise<OwnDaemon> {
  const flags = ['--ephemeral', '--port', '0', '--log-level', 'error', ...(seed ? ['--seed', seed] : [])]
  const adminToken = randomBytes(24).toString('base64url')
  const child = spawn(process.execPath, [ctx.system.daemonScript(), ...flags], {
    // In a group of its own, Ctrl-C does not reach it, so the command can still use it while it ends. The channel
    // tells it that this process is gone, however that happened.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...ctx.system.env, TAPCHIP_ADMIN_TOKEN: adminToken },
    cwd: ctx.system.cwd,
  })
  stop.pass(child)
  const exited = once(child, 'exit')
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said = `${said}${String(chunk)}`.slice(-4096)
  })
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  const first = await Promise.race([once(lines, 'line'), once(child, 'close').then(() => [])])
  const ready = parseObject(String(first[0] ?? ''))
  if (stop.signal !== undefined || ready?.event !== 'ready') {
    child.kill('SIGTERM')
    await exited
    if (stop.signal !== undefined) throw new Interrupted()
    throw new CliError(
      `The daemon did not start:\n${said.trim().split('\n').slice(-3).map(clean).join('\n')}`,
    )
  }
  child.stderr?.on('data', (chunk) => ctx.system.stderr.write(chunk))
  const end = async () => {
    child.kill('SIGTERM')
    await exited
    lines.close()
  }
  return { child, url: String(ready.url), admin: String(ready.admin), adminToken, end }
}

const readSeed = (path: string): JsonObject => {
  const words = {
    path,
    verb: 'read',
    advice: 'Give the path of a seed file.',
    exitCode: exitCodes.usage,
  } as const
  // The daemon says what is wrong with it.
  return parseObject(withFiles(words, () => readFileSync(path, 'utf8'))) ?? {}
}

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])

async function apiKey(daemon: OwnDaemon, seed: JsonObject): Promise<string> {
  const teams = objects(seed.teams)
  const [key] = teams.flatMap(({ apiKeys }) => objects(apiKeys).map((it) => it.key))
  if (typeof key === 'string') return key
  const { createClient } = await import('../client/client.ts')
  const client = createClient({
    ...daemon,
    adminToken: () => daemon.adminToken,
    adminUrl: () => daemon.admin,
  })
  try {
    const team = teams[0]?.name ?? (await client.call('POST /admin/teams', { body: { name: 'CI' } })).name
    return (await client.call('POST /admin/api-keys', { body: { name: 'ci', team: String(team) } })).key
  } finally {
    client.close()
  }
}

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
