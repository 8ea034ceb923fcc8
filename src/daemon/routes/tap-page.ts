import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nanoid } from 'nanoid'
import { buildPage, type ViewOptions } from '../domain/tap-page/build.ts'
import { calendarEntry } from '../domain/tap-page/calendar.ts'
import type { TapPage } from '../domain/tap-page/content.ts'
import { previewLink } from '../domain/tap-page/preview-link.ts'
import { isOwnVisit, openTap, type PageCookie, type TapResponse } from '../domain/taps/open-tap.ts'
import { isTapParameter, tapState } from '../domain/taps/verify-tap.ts'
import { limited } from '../http/bind.ts'
import { isCrawler } from '../http/crawlers.ts'
import { isPrefetch, refusePrefetch } from '../http/prefetch.ts'
import { calendarFile } from '../pages/tap/calendar.ts'
import { actionCards } from '../pages/tap/cards.ts'
import { linkPreviewPage } from '../pages/tap/link-preview.ts'
import { homePage, printedPage, refusalPage } from '../pages/tap/refusals.ts'
import type { PageSettings } from '../pages/tap/settings.ts'
import { tapPage } from '../pages/tap/tap-page.ts'
import type { Context } from '../process/context.ts'
import { imageUrl } from './badge-events.ts'
import { returnQuery } from './tap-forms.ts'
import { lookOf, pageSettings, privateHeaders, sendPage } from './tap-page-answer.ts'
import { cookieLines, cookiesOf } from './tap-page-cookies.ts'

/** The target of a chip's URL. */
export function tapPageRoutes(app: FastifyInstance, ctx: Context): void {
  const isReloadOfOwnTap = (request: FastifyRequest) =>
    isOwnVisit(ctx, queryOf(request), cookiesOf(request).values)
  const config = { ...limited, takesTap: true, provesTap: isReloadOfOwnTap }
  const deps = pageDeps(ctx)
  app.get('/t', { config }, async (request, reply) => {
    reply.headers(privateHeaders)
    if (isPrefetch(request)) return refusePrefetch(reply)
    if (request.method !== 'HEAD' && isCrawler(request)) {
      const settings = pageSettings(ctx, request.headers['accept-language'])
      const preview = await previewLink(ctx, queryOf(request))
      if (!preview) return sendPage(reply, 404, homePage(settings), settings)
      return sendPage(reply, 200, linkPreviewPage(preview, settings), settings)
    }
    if (request.method === 'HEAD') return reply.code(statusOf[await tapState(ctx, queryOf(request))]).send()
    const cookies = cookiesOf(request)
    const query = returnQuery(request.url.slice(request.url.indexOf('?') + 1))
    const viewing: ViewOptions = { cookies: cookies.values, query }
    const opened = await openTap(ctx, queryOf(request), cookies.values, (visit) =>
      buildPage(deps, visit, viewing),
    )
    request.isProven = isTakenNow(opened)
    const settings = pageSettings(ctx, request.headers['accept-language'])
    switch (opened.kind) {
      case 'redirect':
        return reply.redirect(opened.url, 302)
      case 'refused':
        return sendPage(
          reply,
          opened.status,
          refusalPage(opened.reason, settings, await lookOf(ctx, opened.chip)),
          settings,
        )
      case 'page': {
        if (opened.cookie) setCookie(ctx, request, reply, opened.cookie)
        return sendPage(
          reply,
          200,
          tapPage(opened.page, settings),
          settings,
          hasOthers(ctx, queryOf(request)),
        )
      }
    }
  })
  app.get('/t/opens.ics', { config: limited }, async (request, reply) => {
    const settings = pageSettings(ctx, request.headers['accept-language'])
    const file = calendarFile(calendarEntry(ctx, queryOf(request)), settings)
    return reply
      .headers({ ...privateHeaders, 'content-language': settings.language })
      .header('content-disposition', 'inline; filename="claim.ics"')
      .type('text/calendar; charset=utf-8')
      .send(file)
  })
  // Printed on labels, with the UID in decimal.
  app.get('/t/:uid(^\\d{1,17}$)', { config: limited }, async (request, reply) => {
    const settings = pageSettings(ctx, request.headers['accept-language'])
    return sendPage(reply, 200, printedPage(settings), settings)
  })
}

/** For the page's script: each card that may have changed. */
export const cardsOf = (page: TapPage, settings: PageSettings) => ({
  cards: actionCards(page, settings),
  endsAt: page.endsAt,
  isLive: page.isLive,
})

/** For the rules of tap pages: images of badges are at our own addresses. A context has too many fields to be copied for each page. */
export const pageDeps = (ctx: Context) => ({
  ...ctx,
  explorers: ctx.config.explorers,
  urlOfImage: (image: Parameters<typeof imageUrl>[1]) => imageUrl(ctx, image),
})

export function setCookie(
  ctx: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  cookie: PageCookie & { name?: string },
): void {
  const name = cookie.name ?? `tapchip_tap_${nanoid(8)}`
  reply.header('set-cookie', cookieLines(ctx, request, { ...cookie, name }))
}

/** Reloads count toward the limit: otherwise one tap would allow any number of them. */
function isTakenNow(opened: TapResponse<unknown>): boolean {
  if (opened.kind === 'page') return opened.cookie !== undefined
  return opened.kind === 'redirect' || opened.reason === 'caught-up'
}

const statusOf = {
  malformed: 400,
  unknown: 404,
  forged: 404,
  disabled: 404,
  replayed: 410,
  'caught-up': 410,
  fresh: 200,
}

/** The link has parameters that are no chip's. */
const hasOthers = ({ keyRing }: Context, query: Record<string, unknown>): boolean =>
  Object.keys(query).some((name) => !isTapParameter(keyRing, name))

const queryOf = (request: FastifyRequest): Record<string, unknown> => ({
  ...(request.query as Record<string, unknown>),
})
