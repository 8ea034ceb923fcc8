import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { DomainError } from '../domain/errors.ts'
import { diskState, probeStore } from '../domain/status.ts'
import { keepToOperators } from '../http/administration.ts'
import { type Sending, watchChains } from '../metrics.ts'
import { version } from '../version.ts'

/** Health, readiness, and metrics. */
export function serviceRoutes(app: FastifyInstance, ctx: Context): void {
  // `instance` lets a client check that a base URL leads to this very daemon.
  app.get('/healthz', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'ok', name: 'tapchipd', version, instance: ctx.instance }
  })
  app.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    await probeStore(ctx)
    const state = await diskState(ctx)
    if (state !== 'writable') throw unwritable[state]()
    if (ctx.isStarting)
      throw new DomainError(
        'store_unavailable',
        'The daemon is starting: the seed is not on the chain yet.',
        {
          retryAfterSeconds: 1,
        },
      )
    const chains = chainWords(ctx)
    return {
      status: 'ready',
      ...(ctx.clock.warnings().length > 0 ? { clock: 'jumped' } : {}),
      ...(Object.keys(chains).length > 0 ? { chains } : {}),
    }
  })
  watchChains(ctx.metrics, () => (ctx.isStarting ? [] : ctx.chains.relayer.status()))
  app.register(async (direct) => {
    keepToOperators(direct, ctx.config)
    direct.get('/metrics', async (_request, reply) =>
      reply.type(ctx.metrics.registry.contentType).send(await ctx.metrics.registry.metrics()),
    )
  })
}

const unwritable = {
  full: () =>
    new DomainError(
      'store_full',
      'The store cannot be written: the disk of the data directory is full. Free some space; the daemon then continues by itself.',
      { retryAfterSeconds: 10 },
    ),
  failing: () =>
    new DomainError(
      'store_unavailable',
      'The store cannot be written: the disk of the data directory reports errors. Check the system log.',
      { retryAfterSeconds: 10 },
    ),
}

/** One word per chain. Taps and most other requests work without chains, so they do not affect readiness. */
function chainWords({ chains }: Context): Record<string, string> {
  return Object.fromEntries(chains.relayer.status().map((sending) => [sending.chainId, wordOf(sending)]))
}

function wordOf({ trouble, waitingForFunds, waitingForFees }: Sending) {
  if (trouble !== undefined) return 'trouble'
  if (waitingForFunds) return 'waiting-for-funds'
  return waitingForFees ? 'waiting-for-fees' : 'ok'
}
