import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { chainStart } from '../../values/audit-chain.ts'
import { adminSocketName } from '../../values/local-daemon.ts'
import { openChains } from '../chain/chains.ts'
import { createNameResolver } from '../chain/names/resolver.ts'
import { Idempotency } from '../chain/relayer/idempotency.ts'
import type { Config } from '../config/config.ts'
import { Credentials } from '../domain/access/credentials.ts'
import { type Badges, openBadges } from '../domain/badge-events/service.ts'
import type { BatchLoop } from '../domain/batches/loop.ts'
import type { Names } from '../domain/chain/recipients.ts'
import { relayerLowWatch } from '../domain/chain/relayer-low.ts'
import { settledWith } from '../domain/chain/transactions.ts'
import { KeyRing } from '../domain/chips/key-ring.ts'
import { Seals } from '../domain/codes/seals.ts'
import { whyNotDeployed } from '../domain/contracts/deployed.ts'
import { TapLog } from '../domain/taps/tap-log.ts'
import { type Clock, systemClock, Timekeeper } from '../domain/time/time.ts'
import { Deliverer } from '../domain/webhooks/deliverer.ts'
import { WebhookEvents } from '../domain/webhooks/events.ts'
import { WireWords } from '../http/parse-input.ts'
import type { RefreshQueue } from '../marketplace/refresh-queue.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { type AuditSeal, checkAuditHead } from '../store/audit/audit-head.ts'
import { completeRestore } from '../store/backup/restore-dir.ts'
import { sealEras } from '../store/backup/restored.ts'
import {
  closeToOthers,
  dataDirProblem,
  holdServer,
  lockDataDir,
  removeUnfinished,
} from '../store/data-dir/data-dir.ts'
import { Disk } from '../store/data-dir/disk.ts'
import type { SecretBox } from '../store/data-dir/secret-box.ts'
import type { Db } from '../store/database/database.ts'
import { nameOfDatabase } from '../store/database/open.ts'
import { allNames } from '../store/database/settings.ts'
import { LeaderElection } from '../store/lease/leader-election.ts'
import { auditWatch } from './audit-watch.ts'
import { batchLoop } from './batch-service.ts'
import { changesOf } from './changes.ts'
import { type ClosingStep, closeInOrder } from './closing.ts'
import { Fleet } from './fleet.ts'
import { type Mailing, mailService } from './mail-service.ts'
import { countTaps, type Metrics, metricsOf } from './metrics.ts'
import { openStore } from './open-store.ts'
import { type PendingChains, pendingChains } from './pending-chains.ts'
import { rootTokens } from './root-token.ts'
import type { ServiceManager } from './service-manager.ts'
import type { UpgradeResult } from './upgrade.ts'
import { chainSettings, marketplaceQueue, outboundOf, webhookOutbound } from './upstreams.ts'

export interface Context {
  readonly config: Config
  readonly log: Logger
  readonly clock: Timekeeper
  readonly seals: Seals
  readonly db: Db
  readonly disk: Disk
  readonly box: SecretBox
  readonly auditSeal: AuditSeal
  readonly keyRing: KeyRing
  readonly credentials: Credentials
  readonly tapLog: TapLog
  readonly metrics: Metrics
  readonly chains: PendingChains
  readonly names: Names
  readonly idempotency: Idempotency
  readonly badges: Badges
  readonly marketplace: RefreshQueue | undefined
  /** Elects the daemon that does background work for the whole database. */
  readonly election: LeaderElection
  readonly fleet: Fleet
  readonly webhookEvents: WebhookEvents
  readonly webhooks: Deliverer
  readonly batches: BatchLoop
  readonly mailing: Mailing | undefined
  readonly wire: WireWords
  readonly outbound: Outbound
  /** The public id of this installation, which no two daemons share. */
  readonly instance: string
  readonly otpLifetime: number
  readonly refLifetime: number
  /** By the clock's `monotonic`. */
  readonly startedAt: number
  /** Set if this start migrated a database of an earlier version. */
  readonly upgrade: UpgradeResult | undefined
  /** The base address in the URLs that the daemon issues; final once it listens. */
  baseUrl: string
  /** The address for operators; final once it listens. */
  adminAddress: string
  /** True until everything from the seed is on the chain. */
  isStarting: boolean
  /** True once the daemon is stopping: proxies take it out of service, while it still answers. */
  isStopping: boolean
  start(): void
  readonly closing: readonly ClosingStep[]
  close(): Promise<void>
}

/**
 * Opens the data directory and everything in it, while the chains are still being opened: the caller waits for them,
 * and closes the context if that fails.
 * @throws DataDirProblem, DataKeyProblem, SchemaTooNew, SchemaTooOld, DataDirInUse, ServerProblem; `chains.opened`
 * KeyProblem, WrongChain
 */
export async function beginContext(
  config: Config,
  log: Logger,
  {
    clock: machineClock = systemClock,
    starting = async () => undefined,
    stopped,
    broadcastTimeoutMs,
  }: {
    clock?: Clock | undefined
    starting?: ServiceManager['starting']
    stopped?: AbortSignal | undefined
    broadcastTimeoutMs?: number | undefined
  } = {},
): Promise<Context> {
  let unlock = () => {}
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
    closeToOthers(config.dataDir)
    unlock = await lockDataDir(config.dataDir)
    if (completeRestore(config.dataDir, { isStart: true }))
      log.info('the restore that was interrupted is complete')
    removeUnfinished(config.dataDir)
    const disk = new Disk(config.dataDir)
    const { db, box, seal, upgrade, failed, instance } = await openStore(config, {
      ...{ log, disk, clock: machineClock, starting, stopped },
    })
    if (config.databaseUrl !== undefined) holdServer(config.dataDir, nameOfDatabase(config.databaseUrl))
    const clock = await Timekeeper.open({ db, clock: machineClock, log })

    const keyRing = new KeyRing(box)
    await keyRing.load(db.read)
    const credentials = new Credentials({ clock, box, log, db }, rootTokens(config))
    await credentials.load(db.read)
    const metrics = metricsOf({ disk, seal, database: db.maintenance })
    const webhookEvents = await WebhookEvents.open(db.read, clock)
    await checkAuditHead(db.read, seal)
    const auditing = auditWatch({ db, seal, clock, log, webhookEvents })
    const election = new LeaderElection({
      db,
      failed: (err) => log.error({ err }, 'cannot determine the background leader'),
    })
    const webhooks = new Deliverer({
      ...{ db, box, clock, webhookEvents, outbound: webhookOutbound(config) },
      auditHead: () => seal.newest?.hash ?? chainStart,
      tried: (outcome) => metrics.webhookTries.inc({ outcome }),
      failed: (err) => log.error({ err }, 'webhooks could not be delivered'),
    })
    const tapLog = new TapLog(db, {
      judged: countTaps(metrics),
      dropped: () => metrics.droppedTaps.inc(),
      storing: (taps) => webhookEvents.refusedTaps(taps),
    })
    const outbound = outboundOf(config)
    const marketplace = marketplaceQueue({ config, db, log, election }, outbound, clock)
    const send = outbound.request.bind(outbound)
    const badges = await openBadges(config.badges, {
      ...{ db, box, clock, log, send, webhookEvents, election },
      dataDir: config.dataDir,
      writeFailed: failed,
    })
    const names = await allNames(db.read)
    const fleet = new Fleet({ db, log, config })
    const chains = pendingChains(
      openChains({
        ...{ db, clock, log, broadcastTimeoutMs },
        ...chainSettings(config, names),
        onSettled: settledWith({ webhookEvents }),
        withoutEffect: whyNotDeployed,
      }),
      fleet.hasChain,
    )
    const changes =
      db.changeFeed && changesOf({ changeFeed: db.changeFeed, log, keyRing, credentials, webhooks })
    const resolver = createNameResolver({
      clientFor: (chainId) => (chains.has(chainId) ? chains.get(chainId).nameClient : undefined),
      isElsewhere: fleet.hasChain,
      fetchGateway: (request) => outbound.request(request),
    })
    const seals = new Seals(box, await sealEras(db.read))
    const idempotency = new Idempotency({ db, lived: () => clock.uptime() })
    const used = {
      ...{ config, log, clock, seals, db, box, keyRing, chains, names: resolver, idempotency },
      ...{ badges, marketplace, election, webhookEvents, instance },
    }
    const lowRelayers = relayerLowWatch(used)
    const batches = batchLoop({ ...used, baseUrl: () => context.baseUrl })
    const mailing = mailService({ ...used, metrics, baseUrl: () => context.baseUrl })
    const closing: ClosingStep[] = [
      { what: 'changes', run: () => changes?.stop() },
      { what: 'fleet', run: () => fleet.unregister() },
      { what: 'watches', run: () => Promise.all([auditing.stop(), lowRelayers.stop()]) },
      { what: 'batches', run: () => batches.stop() },
      { what: 'webhooks', run: () => webhooks.stop() },
      { what: 'mails and marketplace', run: () => Promise.all([mailing?.queue.stop(), marketplace?.stop()]) },
      { what: 'badges', run: () => badges.stop() },
      { what: 'background work', run: () => election.stop() },
      { what: 'chains', run: () => chains.close() },
      { what: 'refused taps', run: () => tapLog.flush() },
      { what: 'uses of credentials', run: () => credentials.uses.flush() },
      // If this write fails, only a minute is lost: keys live that much longer.
      { what: 'clock', run: () => clock.keep().catch(() => undefined) },
      { what: 'database', run: () => db.close() },
      { what: 'lock', run: unlock },
      {
        what: 'temporary directory',
        run: () => config.ephemeral && rmSync(config.dataDir, { recursive: true, force: true }),
      },
    ]
    const context: Context = {
      ...used,
      ...{ disk, auditSeal: seal, credentials, tapLog, metrics, fleet, webhooks, batches, outbound, mailing },
      wire: new WireWords(config),
      otpLifetime: config.otpLifetimeMs,
      refLifetime: config.refLifetimeMs,
      startedAt: clock.monotonic(),
      upgrade,
      isStarting: false,
      isStopping: false,
      start() {
        auditing.start()
        changes?.start()
        election.start()
        chains.relayer.start()
        lowRelayers.start()
        marketplace?.start()
        mailing?.queue.start()
        webhooks.start()
        badges.start()
        batches.start()
      },
      baseUrl: config.baseUrl ?? `http://${config.host}:${config.port}`,
      adminAddress: `unix:${join(config.dataDir, adminSocketName)}`,
      closing,
      async close() {
        await closeInOrder(closing, { log, withinMs: 10_000 })
      },
    }
    return context
  } catch (error) {
    unlock()
    throw dataDirProblem(error, config.dataDir)
  }
}
