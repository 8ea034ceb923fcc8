import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { type Config, loadConfig } from '../../src/daemon/config/config.ts'
import type { Clock } from '../../src/daemon/domain/time/time.ts'
import { buildApp, type Timeouts } from '../../src/daemon/process/app.ts'
import { beginContext, type Context } from '../../src/daemon/process/context.ts'
import { createLogger } from '../../src/daemon/process/log.ts'
import { reconcileChains, startDaemon as start } from '../../src/daemon/process/start.ts'
import { applySeed, readSeed } from '../../src/daemon/seed/load.ts'
import { writeEmptyDataDir } from './empty-database.ts'
import { databaseOf, dropDatabaseOf, isPostgres } from './postgres.ts'

export const adminToken = 'adm_for-tests-only-0123456789'

export interface TestClock extends Clock {
  /** @param span such as 30m, 45s, 2d */
  advance(span: string): void
  /** Is set to another time, while none passes. @param span such as 1h, -365d */
  jump(span: string): void
}

const unit: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A clock that stands still at a moment until it is told otherwise. */
export function testClock(at = '2026-06-01T12:00:00.000Z'): TestClock {
  let now = Date.parse(at)
  let passed = 0
  const msOf = (span: string) => {
    const [, sign, count, of] = /^(-?)(\d+)([smhd])$/.exec(span) ?? []
    return Number(`${sign}${count}`) * (unit[of ?? ''] ?? Number.NaN)
  }
  return {
    now: () => now,
    monotonic: () => passed,
    advance: (span) => {
      now += msOf(span)
      passed += msOf(span)
    },
    jump: (span) => {
      now += msOf(span)
    },
  }
}

export interface Options {
  /** A seed file's content. */
  seed?: unknown
  /** Settings as the environment has them: { TAPCHIP_RATE_LIMIT: '10' }. */
  env?: Record<string, string>
  clock?: Clock
  /** A directory that outlives the daemon; else a fresh one that goes with it. */
  dataDir?: string
  /** Whether there is an embedded chain, with what the seed has on it. It takes a fifth of a second. */
  chain?: boolean
  /** Where the one before it listened; else a free one. */
  port?: number
  /** How long requests are waited for. */
  patience?: Timeouts
  /** How long a request waits until a node has its transaction; 5 s by default. */
  broadcastTimeoutMs?: number
  /** As `tapchip dev` starts it. */
  dev?: boolean
  /** Where log lines go. */
  log?: (line: string) => void
  /** Of those lines; debug by default. */
  logLevel?: Config['logLevel']
}

interface StoredFile {
  name: string
  bytes: Buffer
}
/** The files of a data directory by what was seeded, from the second application with the same seed on. */
const seeded = new Map<string, { files?: Promise<StoredFile[]> }>()

async function seedOnce({ log: _, ...options }: Options): Promise<StoredFile[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-seeded-'))
  try {
    await writeEmptyDataDir(dataDir)
    const t = await openTestApp({ ...options, dataDir })
    await allSettled(t.ctx)
    await t.close()
    const entries = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    const names = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
    return names.map((name) => ({ name: relative(dataDir, name), bytes: readFileSync(name) }))
  } finally {
    rmSync(dataDir, { recursive: true })
  }
}

/** Deploying a seed's contracts takes as long as starting their chain. @returns whether copying replaced it */
async function copySeeded(options: Options, dataDir: string): Promise<boolean> {
  const { seed, env, clock } = options
  const key = JSON.stringify([seed, env, clock?.now()])
  const known = seeded.get(key)
  if (known === undefined) {
    seeded.set(key, {})
    return false
  }
  known.files ??= seedOnce(options)
  for (const { name, bytes } of await known.files) {
    mkdirSync(dirname(join(dataDir, name)), { recursive: true, mode: 0o700 })
    writeFileSync(join(dataDir, name), bytes, { mode: 0o600 })
  }
  return true
}

async function prepare(options: Options) {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'tapchip-test-'))
  const isEphemeral = options.env?.TAPCHIP_EPHEMERAL !== undefined
  const hasOwnKey = isPostgres || isEphemeral || options.env?.TAPCHIP_DATA_KEY !== undefined
  const isFresh = options.dataDir === undefined && !hasOwnKey
  const isSeeded = isFresh && options.chain && options.seed ? await copySeeded(options, dataDir) : false
  if (isFresh && !isSeeded) await writeEmptyDataDir(dataDir)
  const env = {
    TAPCHIP_DATA_DIR: dataDir,
    TAPCHIP_ADMIN_TOKEN: adminToken,
    TAPCHIP_RATE_LIMIT: 'off',
    TAPCHIP_DEV_CHAIN: options.chain ? 'on' : 'off',
    ...(isEphemeral ? {} : await databaseOf(dataDir)),
    ...options.env,
  }
  const config = loadConfig({ help: false, version: false, configFile: undefined, values: {} }, env)
  const log = options.log
    ? createLogger(options.logLevel ?? 'debug', { write: options.log })
    : pino({ level: 'silent' })
  const seedFile = join(dataDir, 'seed.json')
  const hasSeed = options.seed !== undefined && !isSeeded
  if (hasSeed) writeFileSync(seedFile, JSON.stringify(options.seed))
  const clean = async () => {
    if (options.dataDir !== undefined) return
    rmSync(dataDir, { recursive: true, force: true })
    await dropDatabaseOf(dataDir)
  }
  return {
    config: { ...config, dev: options.dev ?? false },
    log,
    clean,
    dataDir,
    seedFile: hasSeed ? seedFile : undefined,
  }
}

export interface TestApp {
  app: FastifyInstance
  ctx: Context
  /** Headers of the admin token. */
  admin: { authorization: string }
  dataDir: string
  close(): Promise<void>
}

/** The whole application on real SQLite, without a port: `app.inject(…)`. */
export async function openTestApp(options: Options = {}): Promise<TestApp> {
  const { config, log, clean, dataDir, seedFile } = await prepare(options)
  const { clock, broadcastTimeoutMs } = options
  const ctx = await beginContext(config, log, { clock, broadcastTimeoutMs })
  await ctx.chains.opened.catch(async (error: unknown) => {
    await ctx.close()
    throw error
  })
  await ctx.election.check()
  if (seedFile !== undefined) await applySeed(ctx, await readSeed(seedFile))
  const app = await buildApp(ctx, options.patience)
  if (options.chain) {
    ctx.start()
    await reconcileChains(ctx)
  }
  const close = async () => {
    await app.close()
    await ctx.close()
    await clean()
  }
  return { app, ctx, admin: { authorization: `Bearer ${adminToken}` }, dataDir, close }
}

/** A daemon in this process that listens on a free port of loopback. */
export async function startTestDaemon(options: Options = {}) {
  const { config, log, clean, dataDir, seedFile } = await prepare(options)
  const daemon = await start({ ...config, port: options.port ?? 0, seed: seedFile }, log)
  const stop = async () => {
    await daemon.stop()
    await clean()
  }
  return { url: daemon.ready.url, adminToken, ctx: daemon.ctx, dataDir, stop }
}

export type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>

/** Waits until nothing that is recorded is under way on a chain. */
export async function allSettled({ db, chains }: Context): Promise<void> {
  const open = await db.read.selectFrom('transactions').select('id').where('settledAt', 'is', null).execute()
  await Promise.all(open.map(({ id }) => chains.relayer.settled(id)))
}
