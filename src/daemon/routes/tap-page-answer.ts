import type { FastifyReply, FastifyRequest } from 'fastify'
import { nanoid } from 'nanoid'
import { plainPath } from '../http/cors.ts'
import type { ErrorPages } from '../http/errors.ts'
import { failurePage } from '../pages/tap/refusals.ts'
import { contentSecurityPolicy, type Page, type PageSettings } from '../pages/tap/settings.ts'
import { chooseLanguage } from '../pages/tap/strings/strings.ts'
import type { Context } from '../process/context.ts'
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
  ...privateHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-language': language,
  'content-security-policy': contentSecurityPolicy(nonce),
})

/** @param settings the page's settings, whose nonce is in the policy */
export const sendPage = (
  reply: FastifyReply,
  status: number,
  page: Page,
  settings: PageSettings,
): FastifyReply => reply.code(status).headers(pageHeaders(settings)).send(page.body)

/** People with a phone get a page for every error below /t; the page's script gets JSON, as apps do. */
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
      if (!isTapPage(request.raw.url ?? '/') || /json|event-stream/.test(accept)) return false
      const { settings, page } = madeFor(acceptLanguage, { ...failed, isForm: request.method === 'POST' })
      void sendPage(reply, failed.status, page, settings)
      return true
    },
    raw: (start, failed) => {
      const [, url = ''] = /^[A-Z]+ (\S{1,2000})/.exec(start) ?? []
      if (!isTapPage(url)) return undefined
      const [, acceptLanguage] = /\r\naccept-language: *([^\r\n]+)/i.exec(start) ?? []
      const { settings, page } = madeFor(acceptLanguage, failed)
      return { headers: pageHeaders(settings), body: page.body }
    },
  }
}

const isTapPage = (url: string): boolean => /^\/t(\/|$)/.test(plainPath(url))
