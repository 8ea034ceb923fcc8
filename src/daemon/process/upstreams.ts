import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { iso } from '../domain/time/time.ts'
import type { WebhookOutbound } from '../domain/webhooks/send.ts'
import { createOpenSea } from '../marketplace/opensea.ts'
import { RefreshQueue } from '../marketplace/refresh-queue.ts'
import { boundedLookUp } from '../outbound/look-up.ts'
import { createOutbound, type Outbound, OutboundRefused, whyNotCallable } from '../outbound/outbound.ts'
import { dueRefreshes, updateRefresh } from '../store/chain/announcements.ts'
import type { Db } from '../store/database/database.ts'
import type { Election } from '../store/lease/leader-election.ts'

const timeoutMs = 10_000
const maxBytes = 1024 * 1024

/** Only addresses from the configuration may be private. */
export const outboundOf = (config: Config): Outbound =>
  createOutbound({
    allowPrivate: namedIn(config).map((url) => new URL(url).origin),
    timeoutMs,
    maxBytes,
  })

const namedIn = ({ marketplace, badges: { poap } }: Config): string[] =>
  [marketplace?.url, poap?.url, poap?.authUrl].filter((url) => url !== undefined)

/** Receivers of webhooks, whose URLs teams choose. Only the daemon's own configuration allows private addresses. */
export function webhookOutbound({ webhooksPrivate }: Pick<Config, 'webhooksPrivate'>): WebhookOutbound {
  const outbound = createOutbound({
    allowPrivate: webhooksPrivate ? 'all' : [],
    lookup: boundedLookUp({ asksSystem: webhooksPrivate }),
    timeoutMs,
    // Answers are not used, but a small one read to its end is not cut off.
    maxBytes: 16 * 1024,
  })
  const whyNot = (url: string) => whyNotCallable(url, webhooksPrivate)
  return {
    whyNot,
    async post({ url, headers, body }) {
      // The setting may have changed since the URL was registered.
      const reason = whyNot(url)
      if (reason !== undefined) throw new OutboundRefused('url', `The URL ${reason}`)
      return outbound.request({ url, method: 'POST', headers, body, cutsBody: true })
    },
  }
}

export function marketplaceQueue(
  { config, db, log, election }: { config: Config; db: Db; log: Logger; election: Election },
  outbound: Outbound,
  clock: { now(): number; monotonic(): number },
): RefreshQueue | undefined {
  if (!config.marketplace) return undefined
  const { url, apiKey } = config.marketplace
  return new RefreshQueue({
    clock,
    election,
    marketplace: createOpenSea({
      request: (request) => outbound.request(request),
      apiKey,
      baseUrl: url,
      clock,
    }),
    failed: (err) => log.error({ err }, 'marketplace refreshes could not be processed'),
    store: {
      due: async (now, limit) =>
        (await dueRefreshes(db.read, iso(now), limit)).map((row) => ({
          ...row,
          queuedAt: Date.parse(row.createdAt),
          askedAt: row.askedAt === null ? null : Date.parse(row.askedAt),
        })),
      done: (id, askedAt) =>
        db.write((trx) => updateRefresh(trx, id, { doneAt: iso(askedAt), reason: null })),
      later: (id, at, reason) => db.write((trx) => updateRefresh(trx, id, { dueAt: iso(at), reason })),
      giveUp: (id, reason) =>
        db.write((trx) => updateRefresh(trx, id, { givenUpAt: iso(clock.now()), reason })),
    },
  })
}

/** @param names of the embedded chain's name service */
export const chainSettings = (config: Config, names: Readonly<Record<string, string>>) => ({
  dataDir: config.dataDir,
  devChain: config.devChain
    ? {
        rpcMode: config.devRpc,
        rpcPort: config.devRpcPort,
        rpcOrigins: config.devRpcOrigins,
        // Remove the chain data of an ephemeral daemon that was killed.
        endsWithDaemon: config.ephemeral,
        names,
      }
    : undefined,
  remote: config.chains,
  keys: { environment: config.chainKeys, keystore: config.keystore, chains: config.keySettings },
})
