import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nanoid } from 'nanoid'
import { type RefusedChip, type TeamLook, teamLook } from '../domain/tap-page/team-look.ts'
import { prefersHtml } from '../http/accept.ts'
import { encodingOf } from '../http/accept-encoding.ts'
import { plainPath } from '../http/cors.ts'
import type { ErrorPages } from '../http/errors.ts'
import { failurePage, homePage } from '../pages/tap/refusals.ts'
import { contentSecurityPolicy, keptPagePolicy, type Page, type PageSettings } from '../pages/tap/settings.ts'
import { chooseLanguage } from '../pages/tap/strings/strings.ts'
import type { Context } from '../process/context.ts'
import { gzipPage, plainPage } from './page-bytes.ts'
import { tapPageScript } from './tap-page-assets.ts'

/** @param acceptLanguage the header of the request */
export const pageSettings = (ctx: Context, acceptLanguage: string | undefined): PageSettings => ({
  language: chooseLanguage(acceptLanguage),
  nonce: nanoid(),
  now: new Date(ctx.clock.now()),
  gateways: ctx.config.gateways,
  script: tapPageScript,
  home: ctx.baseUrl.replace(/\/+$/, ''),
})

/** For every response below /t, since its URL and content belong to one person. */
export const privateHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
} as const

export const pageHeaders = ({ nonce, language }: PageSettings): Record<string, string> => ({
  'content-type': 'text/html; charset=utf-8',
  'content-language': language,
  'content-security-policy': contentSecurityPolicy(nonce),
  ...privateHeaders,
})

/**
 * @param settings the page's settings, whose nonce is in the policy
 * @param hasInput the page has refs, and beside them text that somebody else may have put into the request: compressed
 * together, the size of the answer would tell whether they are alike (BREACH)
 */
export const sendPage = (
  reply: FastifyReply,
  status: number,
  page: Page,
  settings: PageSettings,
  hasInput = false,
): FastifyReply =>
  sendBody(
    reply.code(status).headers(pageHeaders(settings)).headers(reloading(page)),
    page,
    hasInput ? undefined : 'accept-encoding',
  )

const reloading = ({ reloadsAfter }: Page): Record<string, string> =>
  reloadsAfter === undefined ? {} : { refresh: String(reloadsAfter) }

/** Forms answer with what was typed, so only answers to GET are compressed. */
function sendBody(reply: FastifyReply, page: Page, vary: string | undefined): FastifyReply {
  if (vary !== undefined) reply.header('vary', vary)
  const mayCompress = vary !== undefined && reply.request.method === 'GET'
  if (!mayCompress || encodingOf(reply.request, ['gzip']) === undefined) return reply.send(plainPage(page))
  return reply.header('content-encoding', 'gzip').send(gzipPage(page))
}

const publicVary = 'accept-language, accept-encoding'

/**
 * A page that is the same for everyone who reads its language, and may be kept for a minute.
 * @param isFinal false: something on it will be known in a moment
 */
export function sendPublicPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page,
  { settings, isFinal }: { settings: PageSettings; isFinal: boolean },
): FastifyReply {
  const etag = `W/"${createHash('sha256').update(plainPage(page)).digest('base64url').slice(0, 22)}"`
  reply.headers({
    ...pageHeaders(settings),
    'cache-control': isFinal ? 'public, max-age=60' : 'no-cache',
    'content-security-policy': keptPagePolicy(page.parts[1].styleHash),
    etag,
  })
  const known = request.headers['if-none-match'] ?? ''
  const isKnown = known === '*' || known.split(',').some((one) => one.trim() === etag)
  if (isKnown) return reply.header('vary', publicVary).code(304).send()
  return sendBody(reply.code(200), page, publicVary)
}

/** A refusal says the same without it. */
export const lookOf = async (ctx: Context, chip: RefusedChip | undefined): Promise<TeamLook | undefined> =>
  chip && teamLook(ctx, chip).catch(() => undefined)

/** The page at `/`, which says how to use the chips. */
export function sendHomePage(ctx: Context, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const settings = pageSettings(ctx, request.headers['accept-language'])
  reply.code(200).headers(pageHeaders(settings))
  return sendBody(reply, homePage(settings), 'accept, accept-encoding')
}

/**
 * People with a phone get a page for every error below /t, and for paths that do not exist; the page's script gets
 * JSON, as apps do.
 */
export function tapErrorPages(ctx: Context): ErrorPages {
  const madeFor = (acceptLanguage: string | undefined, failed: { status: number; isForm?: boolean }) => {
    const settings = pageSettings(ctx, acceptLanguage)
    return {
      settings,
      page: failurePage({ ...failed, isStarting: ctx.isStarting && failed.status === 503 }, settings),
    }
  }
  return {
    send: (request: FastifyRequest, reply: FastifyReply, failed) => {
      const { accept = '', 'accept-language': acceptLanguage } = request.headers
      // A person in a browser typed an address that does not exist, or a program asked for one.
      const path = request.raw.url ?? '/'
      const isLost = (request.is404 || isPublicPage(path)) && prefersHtml(request)
      if (!isLost && (!isTapPage(path) || /json|event-stream/.test(accept))) return false
      const { settings, page } = madeFor(acceptLanguage, { ...failed, isForm: request.method === 'POST' })
      void sendPage(reply, failed.status, page, settings)
      return true
    },
    raw: (start, failed) => {
      const [, url = ''] = /^[A-Z]+ (\S{1,2000})/.exec(start) ?? []
      if (!isTapPage(url) && !isPublicPage(url)) return undefined
      const [, acceptLanguage] = /\r\naccept-language: *([^\r\n]+)/i.exec(start) ?? []
      const { settings, page } = madeFor(acceptLanguage, failed)
      return { headers: { ...pageHeaders(settings), ...reloading(page) }, body: page.body }
    },
  }
}

const isTapPage = (url: string): boolean => /^\/t(\/|$)/.test(plainPath(url))

const isPublicPage = (url: string): boolean => /^\/p(\/|$)/.test(plainPath(url))
