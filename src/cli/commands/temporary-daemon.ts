import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { isJsonObject, type JsonObject, parseObject } from '../../values/json.ts'
import type { Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { CliError, exitCodes, Interrupted } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { clean, cleanCells } from '../io/text.ts'

/** The first signal to end is passed on; the second ends this process at once, and the daemon notices. */
export class Stop {
  signal: NodeJS.Signals | undefined
  readonly forget: () => void
  #forward: (signal: NodeJS.Signals) => void = () => undefined
  constructor(ctx: CliContext) {
    this.forget = ctx.system.interrupts.listen((signal) => {
      this.signal = signal
      this.#forward(signal)
    })
  }
  pass(to: ChildProcess, except?: NodeJS.Signals): void {
    this.#forward = (signal) => signal !== except && void to.kill(signal)
  }
}

/** A daemon that this command started, and that ends with it. */
export interface TemporaryDaemon {
  readonly child: ChildProcess
  readonly url: string
  /** `http://…` or `unix:/path`. */
  readonly admin: string
  readonly adminToken: string
  /** RPC URLs by chain id. */
  readonly chains: Readonly<Record<string, string>>
  /** Resolves when it has ended, whatever ended it, and has left nothing behind. */
  readonly ended: Promise<void>
  readonly isEnding: boolean
  end(): Promise<void>
}

interface DaemonOptions {
  /** Beyond --ephemeral. */
  readonly flags: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly stop: Stop
}

/** @throws CliError with the daemon's own words if it does not start; Interrupted */
export async function startTemporaryDaemon(
  ctx: CliContext,
  { flags, env, stop }: DaemonOptions,
): Promise<TemporaryDaemon> {
  const adminToken = randomBytes(24).toString('base64url')
  const args = ['--ephemeral', '--log-level', 'error', ...flags]
  const child = spawn(process.execPath, [ctx.system.daemonScript(), ...args], {
    // In a group of its own, Ctrl-C does not reach it, so that it still answers while the command ends. The channel
    // tells it that this process is gone, however that happened.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...ctx.system.env, ...env, TAPCHIP_ADMIN_TOKEN: adminToken },
    cwd: ctx.system.cwd,
  })
  stop.pass(child)
  const exited = once(child, 'exit')
  let output = ''
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (chunk) => {
    output = `${output}${String(chunk)}`.slice(-4096)
  })
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  const first = await Promise.race([once(lines, 'line'), once(child, 'close').then(() => [])])
  const ready = parseObject(String(first[0] ?? ''))
  if (stop.signal !== undefined || ready?.event !== 'ready') {
    child.kill('SIGTERM')
    await exited
    if (stop.signal !== undefined) throw new Interrupted()
    throw new CliError(
      `The daemon did not start:\n${output.trim().split('\n').slice(-3).map(clean).join('\n')}`,
    )
  }
  child.stderr?.on('data', (chunk) => ctx.system.stderr.write(cleanCells(String(chunk))))
  const ended = exited.then(() => {
    lines.close()
    // One that was killed could not do that.
    rmSync(String(ready.dataDir), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  let isEnding = false
  const chains = isJsonObject(ready.chains) ? ready.chains : {}
  return {
    child,
    url: String(ready.url),
    admin: String(ready.admin),
    adminToken,
    chains: Object.fromEntries(Object.entries(chains).map(([id, url]) => [id, String(url)])),
    ended,
    get isEnding() {
      return isEnding
    },
    end: async () => {
      isEnding = true
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** @throws CliError if it cannot be read; what is wrong with its content is said by the daemon */
export const readSeed = (path: string): JsonObject => {
  const messages = {
    path,
    verb: 'read',
    advice: 'Give the path of a seed file.',
    exitCode: exitCodes.usage,
  } as const
  return parseObject(withFiles(messages, () => readFileSync(path, 'utf8'))) ?? {}
}

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])

/**
 * The first key of the seed, or a new one for its first team, or for a new team.
 * @param name of the new key; of the new team, in capitals
 */
export async function apiKeyOf(client: Client, seed: JsonObject, name: string) {
  const teams = objects(seed.teams)
  for (const { name: team, apiKeys } of teams)
    for (const { key } of objects(apiKeys)) if (typeof key === 'string') return { key, team: String(team) }
  const team = String(
    teams[0]?.name ?? (await client.call('POST /admin/teams', { body: { name: name.toUpperCase() } })).name,
  )
  return { key: (await client.call('POST /admin/api-keys', { body: { name, team } })).key, team }
}

/** Runs a job with a client for the administration of the daemon. */
export async function administering<T>(
  { url, admin, adminToken }: TemporaryDaemon,
  job: (client: Client) => Promise<T>,
): Promise<T> {
  const { createClient } = await import('../client/client.ts')
  const client = createClient({ url, adminToken: () => adminToken, adminUrl: () => admin })
  try {
    return await job(client)
  } finally {
    client.close()
  }
}
