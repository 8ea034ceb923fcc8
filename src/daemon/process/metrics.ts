import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Maintenance } from '../store/database/database.ts'
import { RequestTimes } from './request-times.ts'

/** Labels are few and fixed: never a UID, a code, or an address. */
export interface Metrics {
  readonly registry: Registry
  /** Kept outside the registry. */
  readonly requests: RequestTimes
  readonly taps: Counter<'outcome'>
  readonly setupTaps: Counter
  readonly droppedTaps: Counter
  readonly unconfiguredProxy: Counter
  readonly webhookTries: Counter<'outcome'>
  readonly mails: Counter<'outcome'>
}

/** The metrics, with those of the parts that are open already. */
export function metricsOf(parts: {
  disk: Parameters<typeof watchDisk>[1]
  database: Parameters<typeof watchDatabase>[1]
  seal: Parameters<typeof watchAuditSeal>[1]
}): Metrics {
  const metrics = createMetrics()
  watchDisk(metrics, parts.disk)
  watchDatabase(metrics, parts.database)
  watchAuditSeal(metrics, parts.seal)
  return metrics
}

function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const unconfiguredProxy = new Counter({
    name: 'tapchip_untrusted_proxy_requests_total',
    help: 'Requests forwarded by a proxy while TAPCHIP_TRUST_PROXY is not set',
    registers,
  })
  new Counter({
    name: 'tapchip_requests_of_untold_proxy_total',
    help: 'Deprecated: use tapchip_untrusted_proxy_requests_total',
    registers,
    async collect() {
      this.reset()
      this.inc((await unconfiguredProxy.get()).values[0]?.value ?? 0)
    },
  })
  return {
    registry,
    requests: new RequestTimes(),
    taps: new Counter({
      name: 'tapchip_taps_total',
      help: 'Taps judged, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    setupTaps: new Counter({
      name: 'tapchip_setup_taps_total',
      help: 'Taps judged while chips were set up or checked; tapchip_taps_total leaves them out',
      registers,
    }),
    droppedTaps: new Counter({
      name: 'tapchip_refused_taps_not_recorded_total',
      help: 'Refused taps that arrived too fast to be recorded one by one',
      registers,
    }),
    unconfiguredProxy,
    webhookTries: new Counter({
      name: 'tapchip_webhook_tries_total',
      help: 'Webhook delivery attempts, by outcome: delivered, again (will be retried), or failed',
      labelNames: ['outcome'],
      registers,
    }),
    mails: new Counter({
      name: 'tapchip_mails_total',
      help: 'Attempts to send a mail, by outcome: sent, retry (will be retried), or refused',
      labelNames: ['outcome'],
      registers,
    }),
  }
}

export const countTaps =
  ({ taps, setupTaps }: Pick<Metrics, 'taps' | 'setupTaps'>) =>
  ({ outcome, via }: { outcome: string; via: string }): void =>
    via === 'setup' ? setupTaps.inc() : taps.inc({ outcome })

function watchDisk(
  { registry }: Pick<Metrics, 'registry'>,
  disk: { readonly refusedWrites: number; freeBytes(): Promise<number | undefined> },
): void {
  const registers = [registry]
  new Gauge({
    name: 'tapchip_data_dir_free_bytes',
    help: 'Free bytes for the daemon on the disk of the data directory',
    registers,
    async collect() {
      this.set((await disk.freeBytes()) ?? Number.NaN)
    },
  })
  new Counter({
    name: 'tapchip_writes_refused_total',
    help: 'Writes that were rolled back because the disk was full',
    registers,
    collect() {
      this.reset()
      this.inc(disk.refusedWrites)
    },
  })
}

function watchAuditSeal(
  { registry }: Pick<Metrics, 'registry'>,
  seal: { readonly broken: object | undefined },
): void {
  new Gauge({
    name: 'tapchip_audit_broken',
    help: '1 once somebody has edited the audit log, or replaced it with an earlier one',
    registers: [registry],
    collect() {
      this.set(Number(seal.broken !== undefined))
    },
  })
}

/** Empty for a database in a file. */
function watchDatabase(
  { registry }: Pick<Metrics, 'registry'>,
  maintenance: Pick<Maintenance, 'serverState' | 'serverUse'>,
): void {
  const { serverUse, serverState } = maintenance
  if (!serverUse || !serverState) return
  const registers = [registry]
  new Gauge({
    name: 'tapchip_database_connections',
    help: 'Connections to the database, by pool and state; waiting: requests that wait for one',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const { pool, ...states } of serverUse().pools)
        for (const [state, count] of Object.entries(states)) this.set({ pool, state }, count)
    },
  })
  new Counter({
    name: 'tapchip_database_repeated_total',
    help: 'Retried database work, by reason: conflict, or lost connection',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset()
      const { conflicts, lostConnections } = serverUse()
      this.inc({ reason: 'conflict' }, conflicts)
      this.inc({ reason: 'lost' }, lostConnections)
    },
  })
  new Gauge({
    name: 'tapchip_database_latency_seconds',
    help: 'Duration of one query; NaN while the database does not answer',
    registers,
    async collect() {
      const state = await serverState().catch(() => undefined)
      this.set(state === undefined ? Number.NaN : state.latencyMs / 1000)
      lag.reset()
      for (const { name, lagSeconds } of state?.standbys ?? []) lag.set({ standby: name }, lagSeconds ?? 0)
    },
  })
  const lag = new Gauge({
    name: 'tapchip_database_standby_lag_seconds',
    help: 'How far a standby is behind; absent if the server does not report it',
    labelNames: ['standby'],
    registers,
  })
}

/** All metrics in Prometheus' text format. */
export const metricsText = async ({
  registry,
  requests,
}: Pick<Metrics, 'registry' | 'requests'>): Promise<string> =>
  `${await registry.metrics()}\n${requests.text()}`

/** Counts every answer, and logs it at level debug by its route: a URL contains codes and taps. */
export function observe(
  app: FastifyInstance,
  { metrics, log }: { metrics: Pick<Metrics, 'requests'>; log: Logger },
): void {
  const isDebug = log.isLevelEnabled('debug')
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const seconds = reply.elapsedTime / 1000
    metrics.requests.of(request.method, route, reply.statusCode).observe(seconds)
    if (isDebug)
      request.log.debug({ method: request.method, route, status: reply.statusCode, seconds }, 'answered')
    done()
  })
}
