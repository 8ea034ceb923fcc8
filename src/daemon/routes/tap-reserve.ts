import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Actor } from '../domain/access/credentials.ts'
import { DomainError, notFound } from '../domain/errors/errors.ts'
import { buildPage } from '../domain/tap-page/build.ts'
import { failureOf } from '../domain/tap-page/failure.ts'
import { type ReserveForm, reserve } from '../domain/tap-page/reserve.ts'
import type { TriedReserve } from '../domain/tap-page/reserve-state.ts'
import { findVisit, type Visit } from '../domain/tap-page/visit.ts'
import { network } from '../http/auth.ts'
import { statusOf } from '../http/errors.ts'
import { pathOf } from '../pages/tap/settings.ts'
import { tapPage } from '../pages/tap/tap-page.ts'
import type { Context } from '../process/context.ts'
import { fieldsOf, refOf, returnQuery, wantsJson } from './tap-forms.ts'
import { cardsOf, pageDeps } from './tap-page.ts'
import { pageSettings, privateHeaders, sendPage } from './tap-page-answer.ts'
import { cookiesOf } from './tap-page-cookies.ts'

/** An answer waits this long for the mail server, so that an address that it refuses is said at once. */
const sendingMs = 3000

/** The forms of a tap page that keep what the tap allows, by e-mail. */
export function reserveRoute(
  app: FastifyInstance,
  ctx: Context,
  { bodyLimit, visitOf }: { bodyLimit: number; visitOf(ref: string): Promise<Visit> },
): void {
  const { mailing } = ctx
  if (!mailing) return
  app.post('/t/reserve', { bodyLimit }, async (request, reply) => {
    reply.headers(privateHeaders)
    const visit = await visitOf(refOf(request))
    const form = reserveFormOf(request)
    const settings = pageSettings(ctx, request.headers['accept-language'])
    const { language } = settings
    const tried = await send(ctx, visit, form, {
      ...{ language, client: network(request.ip), actor: { name: 'mail', requestId: request.id } },
    })
    // Waiting for the mail with another link would tell for which address the piece is kept.
    if (tried.mail !== undefined && !tried.shown?.isLink) await mailing.queue.tried(tried.mail, sendingMs)
    const { values: cookies } = cookiesOf(request)
    const isOwn = cookies.includes(ctx.seals.cookie({ id: visit.tap.tapId, at: visit.tap.at }))
    const tap = returnQuery(fieldsOf(request)('tap'))
    const query = isOwn ? tap : undefined
    const after = await findVisit(ctx, visit.ref)
    const page = await buildPage(pageDeps(ctx), after, { cookies, query, reserve: tried.shown })
    const { refusal } = tried
    const status = refusal === undefined ? 200 : statusOf[refusal.code]
    const retryAfterSeconds = refusal?.detail.retryAfterSeconds
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    if (wantsJson(request)) return reply.code(status).send(cardsOf(page, settings))
    if (refusal === undefined && query !== undefined && !tried.shown?.isLink)
      return reply.redirect(pathOf(settings, `/t?${query}#reserve-0-status`), 303)
    return sendPage(reply, status, tapPage(page, settings, refusal !== undefined), settings)
  })
}

interface Sent {
  mail?: number | undefined
  shown?: TriedReserve | undefined
  refusal?: DomainError
}

async function send(
  ctx: Context,
  visit: Visit,
  form: ReserveForm,
  by: { language: string; client: string; actor: Actor },
): Promise<Sent> {
  const input = 'email' in form ? { email: form.email, isLink: form.isLink } : {}
  try {
    const mail = await reserve(pageDeps(ctx), visit, form, by)
    return { mail, shown: input.isLink ? input : undefined }
  } catch (refusal) {
    if (!(refusal instanceof DomainError)) throw refusal
    const { mistyped, ...failure } = failureOf(refusal, { kind: 'claim', recipient: '' })
    return { shown: { ...input, failure }, refusal }
  }
}

/** @throws DomainError not_found for a form of no page */
function reserveFormOf(request: FastifyRequest): ReserveForm {
  const field = fieldsOf(request)
  const [email, entered] = [field('email').slice(0, 1000), field('code').slice(0, 100)]
  if (entered !== '') return { entered }
  if (email === '' && field('link') === '') throw notFound('form')
  return { email, isLink: field('link') !== '' }
}
