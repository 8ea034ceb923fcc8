import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { hashCode } from '../domain/codes/otps.ts'
import { DomainError, notFound } from '../domain/errors.ts'
import { act } from '../domain/tap-page/act.ts'
import { buildPage, type Tried } from '../domain/tap-page/build.ts'
import type { ActionKind, TapPage } from '../domain/tap-page/content.ts'
import { findVisit, PageOver, type Visit } from '../domain/tap-page/visit.ts'
import { statusOf } from '../http/errors.ts'
import { acceptForms } from '../http/forms.ts'
import { actionCards } from '../pages/tap/cards.ts'
import { refusalPage } from '../pages/tap/refusals.ts'
import type { PageSettings } from '../pages/tap/settings.ts'
import { tapPage } from '../pages/tap/tap-page.ts'
import { pageDeps, setCookie } from './tap-page.ts'
import { pageSettings, privateHeaders, sendPage } from './tap-page-answer.ts'
import { cookiesOf } from './tap-page-cookies.ts'

const bodyLimit = 8192

/** Everything that a tap page posts: forms, authorized by the page's own ref alone. */
export async function tapActionRoutes(app: FastifyInstance, ctx: Context): Promise<void> {
  acceptForms(app)
  app.post('/t/act', { bodyLimit }, async (request, reply) => {
    reply.headers(privateHeaders)
    const form = fieldsOf(request)
    const visit = await visitOf(form, reply, request)
    if (!visit) return reply
    const failure = await press(form, visit, request)
    const status = failure === undefined ? 200 : statusOf[failure.code]
    if (failure?.detail.retryAfterSeconds !== undefined)
      reply.header('retry-after', failure.detail.retryAfterSeconds)
    const after = await findVisit(ctx, visit.secrets.own)
    const settings = pageSettings(ctx, request.headers['accept-language'])
    const page = await pageOf(form, after, request, failure)
    keepCookie(after, request, reply)
    if (wantsJson(request)) return reply.code(status).send(answerOf(page, settings))
    const isStored = page.actions.some(
      ({ kind, id, state }) => kind === form.kind && id === form.id && !['open', 'closed'].includes(state.is),
    )
    if (isStored && page.query !== undefined && failure === undefined)
      return reply.redirect(`${ctx.baseUrl}/t?${page.query}`, 303)
    return sendPage(reply, status, tapPage(page, settings), settings)
  })

  const answerOf = (page: TapPage, settings: PageSettings) => ({
    cards: actionCards(page, settings),
    endsAt: page.endsAt,
    isLive: page.isLive,
  })

  /** A ref that opens no page has been answered. */
  async function visitOf(
    { ref }: Form,
    reply: FastifyReply,
    request: FastifyRequest,
  ): Promise<Visit | undefined> {
    try {
      return await findVisit(ctx, ref)
    } catch (error) {
      if (!(error instanceof PageOver)) throw error
      const status = error.reason === 'disabled' ? 404 : 410
      const settings = pageSettings(ctx, request.headers['accept-language'])
      if (wantsJson(request)) void reply.code(status).send(goneBody(status, error, request))
      else void sendPage(reply, status, refusalPage(error.reason, settings), settings)
      return undefined
    }
  }

  async function press(form: Form, visit: Visit, request: FastifyRequest): Promise<DomainError | undefined> {
    const { kind, id, recipient, deviceId } = form
    const actor = { name: 'code', requestId: request.id }
    try {
      await act(ctx, visit, { kind, id, recipient, deviceId, actor })
      return undefined
    } catch (error) {
      if (error instanceof DomainError) return error
      throw error
    }
  }

  function pageOf(
    form: Form,
    visit: Visit,
    request: FastifyRequest,
    refusal: DomainError | undefined,
  ): Promise<TapPage> {
    const cookies = cookiesOf(request).values
    const isOwn = cookies.some((cookie) => hashCode(cookie) === visit.cookieHash)
    const tried = refusal && triedOf(form, refusal)
    return buildPage(pageDeps(ctx), visit, { cookies, query: isOwn ? form.tap : undefined, tried })
  }

  /** A registration can make a visit last longer than its cookie. */
  function keepCookie(visit: Visit, request: FastifyRequest, reply: FastifyReply): void {
    const { names, values } = cookiesOf(request)
    const at = values.findIndex((value) => hashCode(value) === visit.cookieHash)
    const [name, value] = [names[at], values[at]]
    const maxAgeSeconds = Math.floor((Date.parse(visit.expiresAt) - ctx.clock.now()) / 1000)
    if (name !== undefined && value !== undefined)
      setCookie(ctx, request, reply, { name, value, maxAgeSeconds })
  }
}

const wantsJson = ({ headers }: FastifyRequest): boolean => /\bjson\b/.test(headers.accept ?? '')

const goneBody = (statusCode: number, { message, reason }: PageOver, request: FastifyRequest) => ({
  statusCode,
  error: statusCode === 410 ? 'Gone' : 'Not Found',
  message,
  code: `tap_${reason}`,
  requestId: request.id,
})

interface Form {
  ref: string
  kind: ActionKind
  id: number
  recipient: string
  deviceId: string | undefined
  tap: string | undefined
}

const kinds: readonly ActionKind[] = ['register', 'claim', 'badge', 'guestbook']

/** @throws DomainError not_found without a ref, invalid_input */
function fieldsOf(request: FastifyRequest): Form {
  const fields = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
  const field = (name: string) => fields.get(name) ?? ''
  if (field('ref') === '') throw notFound('ref')
  const kind = kinds.find((one) => one === field('kind'))
  const id = field('id') || '0'
  if (kind === undefined || !/^\d{1,15}$/.test(id))
    throw new DomainError('invalid_input', 'kind and id must name an action of the page. Load it again.')
  return {
    ref: field('ref'),
    kind,
    id: Number(id),
    recipient: field('recipient').slice(0, 1000),
    deviceId: field('deviceId').slice(0, 200) || undefined,
    tap: /^[\w%=&.+-]{1,1000}$/.test(field('tap')) ? field('tap') : undefined,
  }
}

function triedOf({ kind, id, recipient }: Form, { code, message, detail }: DomainError): Tried {
  const { forStrangers, retryAfterSeconds } = detail
  const failure = { code, message: forStrangers ?? message }
  return {
    kind,
    id,
    recipient,
    failure: retryAfterSeconds === undefined ? failure : { ...failure, retryAfterSeconds },
  }
}
