import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { buildApp } from './app.ts'
import { bringToChain } from './bring-to-chain.ts'
import type { Config } from './config.ts'
import { beginContext, type Context } from './context.ts'
import { keepTidy } from './domain/housekeeping.ts'
import { plantSeed, readSeed } from './seed/load.ts'
import { startWarnings } from './start-warnings.ts'

/** What the daemon says on standard output once it serves. */
export interface ReadyLine {
  event: 'ready'
  url: string
  pid: number
  dataDir: string
  /** RPC URLs by chain id. */
  chains: Record<string, string>
}

export interface RunningDaemon {
  ready: ReadyLine
  ctx: Context
  /** Answers what is under way, then closes everything. */
  stop(): Promise<void>
}

/** Opens the data, loads the seed, and listens. @param stopped nobody waits for it to be ready any more */
export async function startDaemon(
  config: Config,
  log: Logger,
  stopped?: AbortSignal,
): Promise<RunningDaemon> {
  for (const warning of startWarnings(config)) log.warn(warning)
  const seed = config.seed === undefined ? undefined : await readSeed(config.seed)
  const ctx = await beginContext(config, log)
  ctx.isStarting = true
  let app: FastifyInstance | undefined
  try {
    if (seed) await plantSeed(ctx, seed)
    app = await buildApp(ctx)
    await app.listen({ host: config.host, port: config.port })
    const url = listeningAt(app, config.host)
    ctx.baseUrl = config.baseUrl ?? url
    await ctx.chains.opened
    ctx.start()
    await bringToChain(ctx, stopped)
    ctx.isStarting = false
    const stopTidying = keepTidy(ctx, (error) => log.error({ err: error }, 'housekeeping failed'))
    log.info({ url, dataDir: config.dataDir }, 'listening')
    const ready: ReadyLine = {
      event: 'ready',
      url,
      pid: process.pid,
      dataDir: config.dataDir,
      chains: { ...ctx.chains.rpcUrls },
    }
    return {
      ready,
      ctx,
      stop: () => {
        stopTidying()
        return stop(ctx, app)
      },
    }
  } catch (error) {
    await stop(ctx, app)
    throw error
  }
}

// Longer than any honest answer takes; shorter than the patience of whoever sent the signal.
const drainMs = 8000

async function stop(ctx: Context, app: FastifyInstance | undefined): Promise<void> {
  const impatient = setTimeout(() => app?.server.closeAllConnections(), drainMs)
  await app?.close()
  clearTimeout(impatient)
  await ctx.close()
}

function listeningAt(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`
}
