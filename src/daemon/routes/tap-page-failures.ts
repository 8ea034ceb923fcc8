import type { FastifyReply, FastifyRequest } from 'fastify'
import { plainPath } from '../http/cors.ts'
import type { ErrorPages } from '../http/errors.ts'
import { failurePage } from '../pages/tap/refusals.ts'
import type { Context } from '../process/context.ts'
import { pageHeaders, pageSettings, sendPage } from './tap-page-answer.ts'

/** A person with a phone gets a page for every error below /t, where the page's script gets JSON as apps do. */
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
