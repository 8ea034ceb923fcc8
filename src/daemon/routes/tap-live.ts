import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Semaphore } from '../../values/semaphore.ts'
import { buildPage, type Watch } from '../domain/tap-page/build.ts'
import { keyOf, type TapPage } from '../domain/tap-page/content.ts'
import { type PageNotices, subscribeToPage } from '../domain/tap-page/live.ts'
import { findVisit, PageOver, type Visit } from '../domain/tap-page/visit.ts'
import { network } from '../http/auth.ts'
import { LiveLines, serverSentEvents } from '../http/live-lines.ts'
import { collectKey } from '../pages/tap/collect.ts'
import type { Context } from '../process/context.ts'
import { keptLayout } from './tap-forms.ts'
import { cardsOf, pageDeps } from './tap-page.ts'
import { pageSettings, privateHeaders } from './tap-page-answer.ts'
import { cookiesOf } from './tap-page-cookies.ts'

const limits = { concurrency: 1000, concurrencyPerKey: 4, waiting: 0, waitingPerKey: 0, waitMs: 0 }

interface LiveSettings {
  notices: PageNotices
  /** In bytes. */
  bodyLimit: number
  visitOf(request: FastifyRequest): Promise<Visit>
}

/** Sends a page's cards as events when they change, or once, for clients that cannot receive a stream. */
export function liveRoute(
  app: FastifyInstance,
  ctx: Context,
  { notices, bodyLimit, visitOf }: LiveSettings,
): void {
  const deps = pageDeps(ctx)
  const streams = new LiveLines(app)
  const places = new Semaphore(limits)
  // A hall of people behind one address must have connections left for taps.
  const concurrencyPerKey = Math.ceil(ctx.config.clientConnections / 2)
  const shares = new Semaphore({ ...limits, concurrencyPerKey })
  app.post('/t/live', { bodyLimit }, async (request, reply) => {
    reply.headers({ ...privateHeaders, 'x-accel-buffering': 'no' })
    const visit = await visitOf(request)
    const { values: cookies } = cookiesOf(request)
    const viewing = { cookies, query: undefined, collected: keptLayout(request) }
    const language = request.headers['accept-language']
    const answerOf = (page: TapPage) => cardsOf(page, pageSettings(ctx, language))
    if (!/\bevent-stream\b/.test(request.headers.accept ?? ''))
      return answerOf(await buildPage(deps, visit, viewing))

    const ref = visit.ref
    let granted = 0
    const onResult = (mayGo: boolean) => {
      granted += Number(mayGo)
    }
    const permits = [places.acquire(ref, onResult), shares.acquire(network(request.ip), onResult)]
    const releaseAll = () => {
      for (const release of permits) release()
    }
    if (granted < permits.length) {
      releaseAll()
      const message = 'Too many pages are being followed. Ask again, without a stream.'
      const refusal = { statusCode: 503, error: 'Service Unavailable', message, code: 'busy' }
      return reply
        .code(503)
        .header('retry-after', 5)
        .send({ ...refusal, requestId: request.id })
    }
    if (reply.raw.closed) releaseAll()
    else reply.raw.once('close', releaseAll)
    const load = async (watch: Watch) => buildPage(deps, await findVisit(ctx, ref), { ...viewing, watch })
    type Change = { page: TapPage; keys: ReadonlySet<string> }
    return streams.send<Change>(
      reply,
      {
        follow: (onEvent, end) => {
          const ended = (error: unknown) => {
            if (error !== undefined && !(error instanceof PageOver))
              ctx.log.warn({ requestId: request.id, err: error }, 'a tap page is no longer followed')
            end()
          }
          return subscribeToPage({
            chains: ctx.chains,
            clock: ctx.clock,
            notices,
            ref,
            load,
            onChange: onEvent,
            onEnd: ended,
          })
        },
        toLine: ({ page, keys }) => {
          const { cards, ...rest } = answerOf(page)
          // Its form has several actions, each with a key of its own.
          const isChanged = (key: string) =>
            key === collectKey ? page.actions.some((action) => keys.has(keyOf(action))) : keys.has(key)
          return { cards: cards.filter(({ key }) => isChanged(key)), ...rest }
        },
        mayGoOn: () => true,
      },
      serverSentEvents('cards'),
    )
  })
}
