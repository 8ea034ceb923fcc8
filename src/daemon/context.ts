import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { nanoid } from 'nanoid'
import type { Logger } from 'pino'
import { adminSocketName } from '../values/local-daemon.ts'
import { openChains } from './chain/chains.ts'
import { createNameResolver } from './chain/names/resolver.ts'
import { Idempotency } from './chain/relayer/idempotency.ts'
import { type ClosingStep, closeInOrder } from './closing.ts'
import type { Config } from './config/config.ts'
import { Credentials } from './domain/access/credentials.ts'
import { type Badges, openBadges } from './domain/badge-events/service.ts'
import type { Names } from './domain/chain/recipients.ts'
import { settledWith } from './domain/chain/settlements.ts'
import { KeyRing } from './domain/chips/key-ring.ts'
import { type CodeSource, randomCodes } from './domain/codes/otps.ts'
import { whyNotDeployed } from './domain/contracts/deployed.ts'
import type { RefCodes } from './domain/taps/refs.ts'
import { RepeatedRefs } from './domain/taps/repeated-refs.ts'
import { TapLog } from './domain/taps/tap-log.ts'
import { type Clock, systemClock } from './domain/time.ts'
import { Timekeeper } from './domain/timekeeper.ts'
import { WebhookEvents } from './domain/webhook-events.ts'
import { WireWords } from './http/wire.ts'
import type { RefreshQueue } from './marketplace/refresh-queue.ts'
import { countTaps, createMetrics, type Metrics, watchDisk } from './metrics.ts'
import type { Outbound } from './outbound/outbound.ts'
import { type PendingChains, pendingChains } from './pending-chains.ts'
import { rootTokens } from './root-token.ts'
import type { ServiceManager } from './service-manager.ts'
import { sealAuditWith } from './store/audit-head.ts'
import {
  closeToOthers,
  DataDirProblem,
  dataDirProblem,
  heldInstance,
  holdInstance,
  lockDataDir,
  removeUnfinished,
} from './store/data-dir.ts'
import { assertDataKey, loadDataKey, restoreDataKey, sealCheck } from './store/data-key.ts'
import type { Db } from './store/database.ts'
import { Disk } from './store/disk.ts'
import { openDatabase } from './store/open.ts'
import { completeRestore } from './store/restore-dir.ts'
import { SecretBox } from './store/secret-box.ts'
import { allNames, setSettingOnce, setting } from './store/settings.ts'
import { type Upgraded, upgradeDatabase } from './upgrade.ts'
import { marketplaceQueue, outboundOf } from './upstreams.ts'
import { type WebhookService, webhookService } from './webhook-service.ts'

export interface Context {
  readonly config: Config
  readonly log: Logger
  readonly clock: Timekeeper
  readonly codes: CodeSource
  readonly db: Db
  readonly disk: Disk
  readonly box: SecretBox
  readonly keyRing: KeyRing
  readonly credentials: Credentials
  readonly tapLog: TapLog
  readonly repeatedRefs: RepeatedRefs<RefCodes> | undefined
  readonly metrics: Metrics
  readonly chains: PendingChains
  readonly names: Names
  readonly idempotency: Idempotency
  readonly badges: Badges
  readonly marketplace: RefreshQueue | undefined
  readonly webhookEvents: WebhookEvents
  readonly webhooks: WebhookService
  readonly wire: WireWords
  readonly outbound: Outbound
  /** The public id of this installation, which no two daemons share. */
  readonly instance: string
  readonly otpLifetime: number
  readonly refLifetime: number
  /** By the clock's `monotonic`. */
  readonly startedAt: number
  /** If this start migrated a database of an earlier version. */
  readonly upgrade: Upgraded | undefined
  /** The base address in the URLs that the daemon issues; final once it listens. */
  baseUrl: string
  /** The address for operators; final once it listens. */
  adminAddress: string
  /** True until everything from the seed is on the chain. */
  isStarting: boolean
  start(): void
  readonly closing: readonly ClosingStep[]
  close(): Promise<void>
}

export const databaseFile = 'tapchip.db'

/**
 * Opens the data directory and everything in it, while the chains are still being opened: the caller waits for them,
 * and closes the context if that fails.
 * @throws DataDirProblem, DataKeyProblem, SchemaTooNew, DataDirInUse; `chains.opened` KeyProblem, WrongChain
 */
export async function beginContext(
  config: Config,
  log: Logger,
  {
    clock: machineClock = systemClock,
    starting = async () => undefined,
  }: { clock?: Clock | undefined; starting?: ServiceManager['starting'] } = {},
): Promise<Context> {
  let unlock = () => {}
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
    closeToOthers(config.dataDir)
    unlock = await lockDataDir(config.dataDir)
    if (completeRestore(config.dataDir, { isStart: true }))
      log.info('the restore that was interrupted is complete')
    removeUnfinished(config.dataDir)
    const file = join(config.dataDir, databaseFile)
    const held = heldInstance(config.dataDir, file)
    const databaseStats = statSync(file, { throwIfNoEntry: false })
    if (databaseStats?.isDirectory())
      throw new DataDirProblem(`${file} is a directory, and has to be a file. Move it away.`)
    const databaseExists = databaseStats !== undefined
    if (databaseExists && config.dataKey === undefined)
      await restoreDataKey(config.dataDir, config.backupPassphrase)
    const box = new SecretBox(
      loadDataKey({ dataDir: config.dataDir, fromEnvironment: config.dataKey, databaseExists }),
    )
    const disk = new Disk(config.dataDir)
    const upgrade = await upgradeDatabase(file, { config, log, clock: machineClock, disk, box, starting })
    const failed = disk.failed.bind(disk)
    const db = openDatabase(file, failed)
    await db.write(async (trx) => sealAuditWith(trx, box))
    const instance = await claimDatabase(db, box, config.dataDir)
    holdInstance(config.dataDir, held, instance)
    const clock = await Timekeeper.open({ db, clock: machineClock, log })

    const keyRing = new KeyRing(box)
    await keyRing.load(db.read)
    const credentials = new Credentials(clock, rootTokens(config))
    await credentials.load(db.read)
    const metrics = createMetrics()
    watchDisk(metrics, disk)
    const webhookEvents = await WebhookEvents.open(db.read, clock)
    const webhooks = webhookService({ config, db, box, clock, log, metrics, webhookEvents })
    const tapLog = new TapLog(db, {
      judged: countTaps(metrics),
      dropped: () => metrics.droppedTaps.inc(),
      storing: (trx, taps) => webhookEvents.recordRefusedTaps(trx, taps),
    })
    const outbound = outboundOf(config)
    const marketplace = marketplaceQueue({ config, db, log }, outbound, clock)
    const send = outbound.request.bind(outbound)
    const badges = await openBadges(config.badges, {
      db,
      box,
      clock,
      log,
      send,
      dataDir: config.dataDir,
      writeFailed: failed,
      webhookEvents,
    })
    const names = await allNames(db.read)
    const chains = pendingChains(
      openChains({
        db,
        clock,
        log,
        dataDir: config.dataDir,
        devChain: config.devChain
          ? {
              rpcMode: config.devRpc,
              rpcPort: config.devRpcPort,
              rpcOrigins: config.devRpcOrigins,
              // Nobody comes back for the chain of an ephemeral daemon that was killed.
              endsWithDaemon: config.ephemeral,
              names,
            }
          : undefined,
        remote: config.chains,
        keys: { environment: config.chainKeys, keystore: config.keystore },
        holder: nanoid(),
        onSettled: settledWith({ webhookEvents }),
        withoutEffect: whyNotDeployed,
        writeFailed: failed,
      }),
    )
    const closing: ClosingStep[] = [
      { what: 'webhooks', run: () => webhooks.stop() },
      { what: 'marketplace', run: () => marketplace?.stop() },
      { what: 'badges', run: () => badges.stop() },
      { what: 'chains', run: () => chains.close() },
      { what: 'refused taps', run: () => tapLog.flush() },
      // If this write fails, only a minute is lost: keys live that much longer.
      { what: 'clock', run: () => clock.keep().catch(() => undefined) },
      { what: 'database', run: () => db.close() },
      { what: 'lock', run: unlock },
      {
        what: 'temporary directory',
        run: () => config.ephemeral && rmSync(config.dataDir, { recursive: true, force: true }),
      },
    ]
    return {
      config,
      log,
      clock,
      codes: randomCodes,
      db,
      disk,
      box,
      keyRing,
      credentials,
      tapLog,
      repeatedRefs: config.dev ? new RepeatedRefs(clock) : undefined,
      metrics,
      chains,
      names: createNameResolver({
        clientFor: (chainId) => (chains.has(chainId) ? chains.get(chainId).client : undefined),
        fetchGateway: (request) => outbound.request(request),
      }),
      idempotency: new Idempotency({ db, lived: () => clock.lived() }),
      badges,
      marketplace,
      webhookEvents,
      webhooks,
      outbound,
      wire: new WireWords(config),
      instance,
      otpLifetime: config.otpLifetimeMs,
      refLifetime: config.refLifetimeMs,
      startedAt: clock.monotonic(),
      upgrade,
      isStarting: false,
      start() {
        chains.relayer.start()
        marketplace?.start()
        webhooks.start()
        badges.start()
      },
      baseUrl: config.baseUrl ?? `http://${config.host}:${config.port}`,
      adminAddress: `unix:${join(config.dataDir, adminSocketName)}`,
      closing,
      async close() {
        await closeInOrder(closing, { log, withinMs: 10_000 })
      },
    }
  } catch (error) {
    unlock()
    throw dataDirProblem(error, config.dataDir)
  }
}

/** Ties a database to its data key at the first start, and checks the key at later ones. */
async function claimDatabase(db: Db, box: SecretBox, dataDir: string): Promise<string> {
  const sealed = await setting(db.read, 'dataKeyCheck')
  if (sealed !== undefined) assertDataKey(box, sealed, dataDir)
  else await db.write((trx) => setSettingOnce(trx, 'dataKeyCheck', sealCheck(box)))
  await db.write((trx) => setSettingOnce(trx, 'instance', nanoid()))
  return (await setting(db.read, 'instance')) ?? ''
}
