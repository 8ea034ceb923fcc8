import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { effectsOf, storeFailure } from '../domain/errors/errors.ts'
import { findKept, keptPage as keptContent, nameWallet, refusedName } from '../domain/tap-page/kept.ts'
import { limited } from '../http/bind.ts'
import { statusOf } from '../http/errors.ts'
import { keptPage } from '../pages/tap/kept.ts'
import { keptRefusal } from '../pages/tap/refusals.ts'
import { pathOf } from '../pages/tap/settings.ts'
import type { Context } from '../process/context.ts'
import { fieldsOf } from './tap-forms.ts'
import { pageDeps } from './tap-page.ts'
import { pageSettings, privateHeaders, sendPage } from './tap-page-answer.ts'

const path = '/t/keep/:secret([A-Za-z0-9_-]{32})'
const secretOf = ({ params }: FastifyRequest): string => String(Object(params).secret)

/** Where the link of a mail leads. Only its form does anything: scanners open every link of a mail. */
export function keptRoutes(app: FastifyInstance, ctx: Context, { bodyLimit }: { bodyLimit: number }): void {
  const settingsOf = (request: FastifyRequest) => pageSettings(ctx, request.headers['accept-language'])
  const refuse = (request: FastifyRequest, reply: FastifyReply, reason: 'ended' | 'unknown') => {
    const settings = settingsOf(request)
    return sendPage(reply, reason === 'ended' ? 410 : 404, keptRefusal(reason, settings), settings)
  }

  app.get(path, { config: limited }, async (request, reply) => {
    reply.headers(privateHeaders)
    const found = await findKept(pageDeps(ctx), secretOf(request))
    if (found.is !== 'kept') return refuse(request, reply, found.is)
    const settings = settingsOf(request)
    const content = await keptContent(pageDeps(ctx), found)
    return sendPage(reply, 200, keptPage(content, secretOf(request), settings), settings)
  })

  app.post(path, { config: limited, bodyLimit }, async (request, reply) => {
    reply.headers(privateHeaders)
    const secret = secretOf(request)
    const found = await findKept(pageDeps(ctx), secret)
    if (found.is !== 'kept') return refuse(request, reply, found.is)
    const recipient = fieldsOf(request)('recipient').slice(0, 1000)
    const actor = { name: 'mail', requestId: request.id }
    const refusal = await nameWallet(pageDeps(ctx), found, { recipient, actor }).catch((error: unknown) => {
      throw storeFailure(error, { ...effectsOf(actor), isOneUse: true }) ?? error
    })
    const settings = settingsOf(request)
    if (!refusal) return reply.redirect(pathOf(settings, `/t/keep/${secret}#kept-status`), 303)
    const content = refusedName(await keptContent(pageDeps(ctx), found), refusal, recipient)
    const { retryAfterSeconds } = refusal.detail
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    return sendPage(reply, statusOf[refusal.code], keptPage(content, secret, settings), settings)
  })
}
