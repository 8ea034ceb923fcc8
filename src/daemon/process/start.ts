import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { BackgroundLoop } from '../../values/background-loop.ts'
import { devChainId } from '../chain/dev-chain/dev-keys.ts'
import type { Config } from '../config/config.ts'
import { missingSigners } from '../domain/chain/chains.ts'
import { verifyContracts } from '../domain/contracts/inspect-contract.ts'
import { recordMissing } from '../domain/deployments/deployments.ts'
import { startCleanup } from '../domain/operations/housekeeping.ts'
import { makeTapMonths } from '../domain/operations/retention.ts'
import { TapCounting } from '../domain/taps/tap-counting.ts'
import { type Administration, addressOf, openAdministration } from '../http/administration.ts'
import { applySeed, readSeed } from '../seed/load.ts'
import { findTransaction } from '../store/chain/intents.ts'
import { queueLengths } from '../store/chain/signer-queues.ts'
import { contractsWithOtherUrl } from '../store/contracts/contracts.ts'
import { dataDirProblem } from '../store/data-dir/data-dir.ts'
import { isOutOfSpace } from '../store/data-dir/disk.ts'
import { allNames } from '../store/database/settings.ts'
import { buildApp } from './app.ts'
import { warnOfSkew } from './clock-skew.ts'
import { closeInOrder } from './closing.ts'
import { beginContext, type Context } from './context.ts'
import type { ServiceManager } from './service-manager.ts'
import { startWarnings } from './start-warnings.ts'
import type { UpgradeResult } from './upgrade.ts'

interface ReadyLine {
  event: 'ready'
  url: string
  /** The address for administration: `http://…` or `unix:/path`; the same as `url` without a separate listener. */
  admin: string
  pid: number
  dataDir: string
  /** RPC URLs by chain id. */
  chains: Record<string, string>
  /** Set if this start migrated a database of an earlier version. */
  upgrade?: UpgradeResult
}

type Starting = ServiceManager['starting']

interface RunningDaemon {
  ready: ReadyLine
  ctx: Context
  /**
   * Answers pending requests, then closes everything.
   * @returns false if something could not be closed in order
   */
  stop(): Promise<boolean>
}

/**
 * Opens the data, loads the seed, and listens.
 * @param options `stopped`: aborted to stop the daemon before it is ready; `starting`: see ServiceManager
 */
export async function startDaemon(
  config: Config,
  log: Logger,
  { stopped, starting = async () => undefined }: { stopped?: AbortSignal; starting?: Starting } = {},
): Promise<RunningDaemon> {
  for (const warning of startWarnings(config)) log.warn(warning)
  const seed = config.seed === undefined ? undefined : await readSeed(config.seed)
  const ctx = await beginContext(config, log, { starting, stopped })
  ctx.isStarting = true
  // Creates partitions in advance: moving a tap into its month later hides it for a moment. Failures here are
  // made up for later.
  await makeTapMonths(ctx.db, ctx.clock.now()).catch(() => undefined)
  await warnOfSkew(ctx).catch((err: unknown) =>
    log.warn({ err }, 'the clock of the database could not be read'),
  )
  let app: FastifyInstance | undefined
  let administration: Administration | undefined
  try {
    void starting('chains, deployments, and the seed')
    if (seed) await applySeed(ctx, seed)
    app = await buildApp(ctx)
    await app.listen({ host: config.host, port: config.port })
    const url = addressOf(app.server, config.host)
    ctx.baseUrl = config.baseUrl ?? url
    administration = await openAdministration(app, {
      ...{ config, log, url, baseUrl: ctx.baseUrl, instance: ctx.instance },
    })
    ctx.adminAddress = administration.address
    await ctx.chains.opened
    await ctx.fleet
      .join(ctx.chains.all)
      .catch((err: unknown) => log.warn({ err }, 'the settings of other daemons could not be read'))
    ctx.start()
    await reconcileChains(ctx, stopped)
    ctx.chains.onServed(() => reconcileChains(ctx, stopped))
    ctx.isStarting = false
    const closing = new AbortController()
    // The result does not affect anything that the ready line promises, and a chain may be slow.
    verifyContracts(ctx, closing.signal).catch((error: unknown) =>
      log.error({ err: error }, 'the contracts could not be checked'),
    )
    const looking = ctx.clock.start((error) => log.error({ err: error }, 'the clock could not be saved'))
    const tidying = startCleanup(ctx, (error) => log.error({ err: error }, 'housekeeping failed'))
    const counting = new TapCounting(ctx).loop(ctx.election, (error) =>
      log.error({ err: error }, 'taps could not be counted'),
    )
    counting.start()
    log.info({ url, admin: administration.address, dataDir: config.dataDir }, 'listening')
    const ready: ReadyLine = {
      event: 'ready',
      url,
      admin: administration.address,
      pid: process.pid,
      dataDir: config.dataDir,
      chains: { ...ctx.chains.rpcUrls },
      ...(ctx.upgrade === undefined ? {} : { upgrade: ctx.upgrade }),
    }
    return {
      ready,
      ctx,
      stop: () => {
        ctx.isStopping = true
        closing.abort()
        return stop(ctx, app, administration, [tidying, looking, counting])
      },
    }
  } catch (error) {
    await stop(ctx, app, administration)
    // Errors with a code come from the system; others already explain themselves.
    const isOfSystem = isOutOfSpace(error) || (error instanceof Error && 'code' in error)
    throw isOfSystem ? dataDirProblem(error, config.dataDir) : error
  }
}

// Longer than any proper answer takes, and shorter than service managers wait.
const drainMs = 8000

/** For all steps after the requests; saving the chain's state is the slowest. */
const closingMs = 10_000

export const maxStopMs = ({ drainSeconds }: Config): number => drainSeconds * 1000 + drainMs + closingMs

function stop(
  ctx: Context,
  app: FastifyInstance | undefined,
  administration: Administration | undefined,
  loops: readonly BackgroundLoop[] = [],
): Promise<boolean> {
  const stopped = Promise.all(loops.map((loop) => loop.stop()))
  const { drainSeconds } = ctx.config
  const drain = async () => {
    // Proxies poll /readyz, and would keep sending requests to a closed port until the next poll.
    if (ctx.isStopping && drainSeconds > 0) await delay(drainSeconds * 1000)
    const cutTimer = setTimeout(() => {
      app?.server.closeAllConnections()
      administration?.closeAllConnections()
    }, drainMs)
    await Promise.all([app?.close(), administration?.close()])
    clearTimeout(cutTimer)
  }
  const steps = [
    { what: 'requests', run: drain },
    { what: 'housekeeping', run: () => stopped },
    ...ctx.closing,
  ]
  return closeInOrder(steps, { log: ctx.log, withinMs: maxStopMs(ctx.config) })
}

// Anything slower continues after the ready line.
const settleTimeoutMs = 60_000
const pollMs = 10

/**
 * Makes the chains match the store: names, contracts, events, and tokens from a seed. Waits for transactions on
 * the embedded chain, but not for those on other chains.
 */
export async function reconcileChains(ctx: Context, stopped?: AbortSignal): Promise<void> {
  const { chains, db, log } = ctx
  await chains.embedded?.setNames(await allNames(db.read))
  const ids = await recordMissing(ctx)
  if (chains.embedded) await settledOn(ctx, ids, stopped)
  if (ids.length > 0) log.info({ transactions: ids.length }, 'recorded what the chains were missing')
  await warnOfOtherUrls(ctx)
  await warnOfMissingRelayers(ctx)
}

/** Transactions of a relayer that is not configured any more; the others take what it has not signed. */
async function warnOfMissingRelayers({ chains, db, log }: Context): Promise<void> {
  for (const chain of chains.all)
    for (const { signer, unsettled } of missingSigners(chain, await queueLengths(db.read, chain.id)))
      log.warn(
        { chainId: chain.id, relayer: signer, unsettled },
        `transactions of a relayer that is not configured here are unsettled; start with its key until they are: TAPCHIP_RELAYERS_${chain.id}`,
      )
}

/** Polls, because transactions behind a failed one are given up with it, and no event announces that. */
async function settledOn({ db, log }: Context, ids: readonly number[], stopped?: AbortSignal): Promise<void> {
  const until = performance.now() + settleTimeoutMs
  for (const id of ids) {
    for (;;) {
      const row = await findTransaction(db.read, id)
      // A signer that is down must not hold up the start.
      if (row?.chainId !== devChainId || row.waiting === 'signer') break
      if (row.settledAt !== null) {
        const { kind, subject, reason, state } = row
        if (state !== 'confirmed')
          log.error({ transaction: id, kind, subject, reason }, 'a transaction failed')
        break
      }
      if (stopped?.aborted) return
      if (performance.now() > until) {
        log.error(
          { transaction: id, waiting: row.waiting },
          'the embedded chain is still working; continuing',
        )
        return
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}

/** On chains where it costs money, changing the base URL is left to the operator: this one may be temporary. */
async function warnOfOtherUrls({ chains, db, log, baseUrl }: Context): Promise<void> {
  for (const { id, isEmbedded } of chains.all) {
    const others = isEmbedded ? [] : await contractsWithOtherUrl(db.read, id, baseUrl)
    for (const { symbol, address, serviceUrl } of others)
      log.warn(
        { chainId: id, symbol, address, told: serviceUrl, baseUrl },
        `the contract has another base URL for its metadata than this daemon; if the daemon moved permanently, run: tapchip contracts set-url ${symbol}`,
      )
  }
}
