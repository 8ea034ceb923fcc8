import type { FastifyInstance } from 'fastify'
import { describeStuck } from '../domain/chain/chains.ts'
import { DomainError } from '../domain/errors/errors.ts'
import { probeStore } from '../domain/operations/status.ts'
import { restrictToOperators } from '../http/administration.ts'
import { watchChains } from '../process/chain-metrics.ts'
import type { Context } from '../process/context.ts'
import { metricsText } from '../process/metrics.ts'
import { version } from '../process/version.ts'

/** Health, readiness, and metrics. */
export function serviceRoutes(app: FastifyInstance, ctx: Context): void {
  // `instance` lets a client check that a base URL leads to this very daemon.
  app.get('/healthz', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'ok', name: 'tapchipd', version, instance: ctx.instance }
  })
  app.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    if (ctx.isStopping)
      throw new DomainError('store_unavailable', 'The daemon is stopping. Another one must take over.', {
        retryAfterSeconds: 1,
      })
    const state = await probeStore(ctx)
    if (state !== 'writable')
      throw unwritable[state](ctx.disk.isOfServer ? 'database server' : 'data directory')
    if (ctx.isStarting)
      throw new DomainError(
        'store_unavailable',
        'The daemon is starting: the seed is not on the chain yet.',
        {
          retryAfterSeconds: 1,
        },
      )
    for (const { chainId, stuck } of ctx.chains.relayer.status())
      if (stuck !== undefined)
        throw new DomainError(
          'chain_unavailable',
          `Chain ${chainId}: ${describeStuck(stuck)}. See: tapchip transactions show ${stuck.id}`,
          {
            retryAfterSeconds: 10,
          },
        )
    const chains = describeChains(ctx)
    return {
      status: 'ready',
      ...describeDatabase(ctx),
      ...(ctx.clock.warnings().length > 0 ? { clock: 'jumped' } : {}),
      ...(Object.keys(chains).length > 0 ? { chains } : {}),
    }
  })
  watchChains(ctx.metrics, () => (ctx.isStarting ? undefined : ctx.chains))
  app.register(async (direct) => {
    restrictToOperators(direct, ctx.config)
    direct.get('/metrics', async (_request, reply) =>
      reply.type(ctx.metrics.registry.contentType).send(await metricsText(ctx.metrics)),
    )
  })
}

const unwritable = {
  full: (of: string) =>
    new DomainError(
      'store_full',
      `The store cannot be written: the disk of the ${of} is full. Free some space; the daemon then continues automatically.`,
      { retryAfterSeconds: 10 },
    ),
  failing: (of: string) =>
    new DomainError(
      'store_unavailable',
      `The store cannot be written: the disk of the ${of} reports errors. Check the system log.`,
      { retryAfterSeconds: 10 },
    ),
}

/** For a database on a server. */
function describeDatabase({ db }: Context) {
  const use = db.maintenance.serverUse?.()
  if (use === undefined) return {}
  const sum = (of: 'inUse' | 'waiting' | 'max') => use.pools.reduce((all, pool) => all + pool[of], 0)
  return {
    database: { engine: 'postgres', inUse: sum('inUse'), waiting: sum('waiting'), max: sum('max') },
  }
}

/** One word per chain, that of its relayer with the greatest problem. Taps work without chains, so an unreachable one does not make the daemon unready. */
function describeChains({ chains }: Context): Record<string, string> {
  const words: Record<string, BacklogWord> = {}
  for (const sending of chains.relayer.status()) {
    const [word, known] = [backlogStatus(sending), words[sending.chainId]]
    if (known === undefined || backlogWords.indexOf(word) > backlogWords.indexOf(known))
      words[sending.chainId] = word
  }
  return words
}

const backlogWords = ['ok', 'waiting-for-fees', 'waiting-for-funds', 'trouble'] as const
type BacklogWord = (typeof backlogWords)[number]

type SenderStatus = ReturnType<Context['chains']['relayer']['status']>[number]

function backlogStatus({ trouble, stuck, waitingForFunds, waitingForFees }: SenderStatus): BacklogWord {
  if (trouble !== undefined || stuck !== undefined) return 'trouble'
  if (waitingForFunds) return 'waiting-for-funds'
  return waitingForFees ? 'waiting-for-fees' : 'ok'
}
