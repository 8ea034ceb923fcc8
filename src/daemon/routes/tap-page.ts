import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { openTap, type TapResponse } from '../domain/taps/open-tap.ts'
import { tapState } from '../domain/taps/verify-tap.ts'
import { limited } from '../http/bind.ts'
import { isPrefetch, refusePrefetch } from '../http/prefetch.ts'
import { refusalPage } from '../pages/tap/refusals.ts'
import { type Page, tapPage } from '../pages/tap.ts'
import { pageSettings, privateHeaders, sendPage } from './tap-page-answer.ts'

const cookieName = 'tapchip_tap'

/** The target of a chip's URL. */
export function tapPageRoutes(app: FastifyInstance, ctx: Context): void {
  const config = { ...limited, takesTap: true }
  app.get('/t', { config }, async (request, reply) => {
    reply.headers(privateHeaders)
    if (isPrefetch(request)) return refusePrefetch(reply)
    if (request.method === 'HEAD') return reply.code(statusOf[await tapState(ctx, queryOf(request))]).send()
    const outcome = await openTap(ctx, queryOf(request), cookieOf(request))
    request.isProven = outcome.kind !== 'refused' || outcome.reason === 'caught-up'
    return answer(ctx, request, reply, outcome)
  })
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

const queryOf = (request: FastifyRequest): Record<string, unknown> => ({
  ...(request.query as Record<string, unknown>),
})

function cookieOf({ headers }: FastifyRequest): string | undefined {
  return new RegExp(`(?:^|; *)${cookieName}=([A-Za-z0-9_-]{21})(?:;|$)`).exec(headers.cookie ?? '')?.[1]
}

function answer(
  ctx: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: TapResponse,
): FastifyReply {
  switch (outcome.kind) {
    case 'redirect':
      return reply.redirect(outcome.url, 302)
    case 'page': {
      if (outcome.cookie) reply.header('set-cookie', cookieText(ctx, outcome.cookie))
      return html(reply, 200, tapPage(outcome))
    }
    case 'refused': {
      const settings = pageSettings(ctx, request.headers['accept-language'])
      return sendPage(reply, outcome.status, refusalPage(outcome.reason, settings), settings)
    }
  }
}

function cookieText(
  ctx: Context,
  { value, maxAgeSeconds }: { value: string; maxAgeSeconds: number },
): string {
  const secure = ctx.baseUrl.startsWith('https:') ? '; Secure' : ''
  const path = new URL(ctx.baseUrl).pathname.replace(/\/+$/, '')
  return `${cookieName}=${value}; Max-Age=${maxAgeSeconds}; Path=${path}/t; HttpOnly; SameSite=Lax${secure}`
}

function html(reply: FastifyReply, status: number, { body, styleHash }: Page): FastifyReply {
  return reply
    .code(status)
    .header(
      'content-security-policy',
      `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    .type('text/html; charset=utf-8')
    .send(body)
}
