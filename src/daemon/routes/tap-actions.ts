import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../domain/access/credentials.ts'
import { pageStringsOfChip } from '../domain/access/page-strings.ts'
import { DomainError, effectsOf, invalid, storeFailure } from '../domain/errors/errors.ts'
import { act } from '../domain/tap-page/act.ts'
import { buildPage } from '../domain/tap-page/build.ts'
import { checkRecipient } from '../domain/tap-page/check.ts'
import type { ActionName, TapPage } from '../domain/tap-page/content.ts'
import { failureOf } from '../domain/tap-page/failure.ts'
import { PageNotices } from '../domain/tap-page/live.ts'
import { findVisit, type Visit } from '../domain/tap-page/visit.ts'
import { statusOf } from '../http/errors.ts'
import { nulProblem } from '../http/parse-input.ts'
import { TokenBucket } from '../http/token-bucket.ts'
import { checkLine } from '../pages/tap/cards.ts'
import { resultId } from '../pages/tap/parts.ts'
import { pathOf } from '../pages/tap/settings.ts'
import { tapPage } from '../pages/tap/tap-page.ts'
import type { Context } from '../process/context.ts'
import { type Form, formOf, keptLayout, refOf, wantsJson } from './tap-forms.ts'
import { keptRoutes } from './tap-kept.ts'
import { liveRoute } from './tap-live.ts'
import { cardsOf, pageDeps, setCookie } from './tap-page.ts'
import { pageSettings, privateHeaders, sendPage } from './tap-page-answer.ts'
import { cookiesOf } from './tap-page-cookies.ts'
import { reserveRoute } from './tap-reserve.ts'

/** In bytes. */
const bodyLimit = 8192
/** Per page and minute. Visitors behind one address do not share a limit. */
const requestsPerMinute = { act: 60, check: 240, live: 120 }

/** The POST routes of tap pages. Only the page's own ref authorizes them, so they need no cookie or CORS. */
export async function tapActionRoutes(app: FastifyInstance, ctx: Context): Promise<void> {
  acceptForms(app)
  const notices = new PageNotices()
  const buckets = {
    act: new TokenBucket(ctx.clock, requestsPerMinute.act),
    check: new TokenBucket(ctx.clock, requestsPerMinute.check),
    live: new TokenBucket(ctx.clock, requestsPerMinute.live),
  }
  /** @throws PageOver, DomainError not_found, rate_limited */
  const visitOf = async (ref: string, what: keyof typeof requestsPerMinute): Promise<Visit> => {
    const visit = await findVisit(ctx, ref)
    const retryAfterSeconds = buckets[what].spend(ref)
    if (retryAfterSeconds === undefined) return visit
    throw new DomainError('rate_limited', 'Too many requests of this page. Wait a moment.', {
      retryAfterSeconds,
    })
  }

  app.post('/t/act', { bodyLimit }, async (request, reply) => {
    reply.headers(privateHeaders)
    const form = formOf(request)
    const visit = await visitOf(form.ref, 'act')
    // Same actor name as for requests with a code.
    const actor = { name: 'code', requestId: request.id }
    const refused = await press(ctx, form, { visit, actor })
    notices.notify(form.ref)
    // Where some were done, the page says of each what became of it.
    const refusal = refused.length === form.actions.length ? refused[0]?.refusal : undefined
    const isEmpty = form.actions.length === 0
    const status = isEmpty ? 400 : refusal === undefined ? 200 : statusOf[refusal.code]
    const { retryAfterSeconds } = refusal?.detail ?? {}
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    const shown = async () => {
      const after = await findVisit(ctx, form.ref)
      return { after, page: await pageAfter(ctx, form, { visit: after, request, refused }) }
    }
    const { after, page } = await shown().catch((error: unknown) => {
      // The action may have been carried out, even if the page cannot be shown.
      throw refusal?.code === 'outcome_unknown' ? refusal : (failureOfStore(error, actor) ?? error)
    })
    keepCookie(ctx, after, request, reply)
    const settings = pageSettings(ctx, request.headers['accept-language'])
    if (wantsJson(request)) return reply.code(status).send(cardsOf(page, settings))
    const [first] = form.actions
    if (first && refused.length === 0 && page.query !== undefined && isStored(page, form))
      return reply.redirect(pathOf(settings, `/t?${page.query}#${resultId(first)}`), 303)
    return sendPage(reply, status, tapPage(page, settings, isEmpty || refused.length > 0), settings)
  })

  app.post('/t/check', { bodyLimit }, async (request, reply) => {
    reply.headers(privateHeaders)
    const form = formOf(request)
    const visit = await visitOf(form.ref, 'check')
    const check = await checkRecipient(ctx, visit, form)
    const ownWords = await pageStringsOfChip(ctx, visit.tap.uid)
    const settings = { ...pageSettings(ctx, request.headers['accept-language']), ownWords }
    return { html: check ? checkLine(check, settings) : '', isGood: check?.is === 'good' }
  })

  reserveRoute(app, ctx, { bodyLimit, visitOf: (ref) => visitOf(ref, 'act') })
  keptRoutes(app, ctx, { bodyLimit })
  liveRoute(app, ctx, { notices, bodyLimit, visitOf: (request) => visitOf(refOf(request), 'live') })
}

interface Refused {
  action: ActionName
  refusal: DomainError
}

/** @returns the actions that were not done, and why */
async function press(
  ctx: Context,
  { actions, recipient, deviceId }: Form,
  { visit, actor }: { visit: Visit; actor: Actor },
): Promise<Refused[]> {
  const refused = await act(pageDeps(ctx), visit, { actions, recipient, deviceId, actor })
  return refused.map(({ action, error }) => {
    const refusal = failureOfStore(error, actor) ?? error
    if (refusal instanceof DomainError) return { action, refusal }
    throw error
  })
}

/** Pressing a button again does nothing twice. */
const failureOfStore = (error: unknown, actor: Actor): DomainError | undefined =>
  storeFailure(error, { ...effectsOf(actor), isOneUse: true })

function pageAfter(
  ctx: Context,
  { actions, isCollect, recipient, tap }: Form,
  { visit, request, refused }: { visit: Visit; request: FastifyRequest; refused: readonly Refused[] },
): Promise<TapPage> {
  const { values: cookies } = cookiesOf(request)
  const isOwn = cookies.includes(cookieOf(ctx, visit))
  const tried = refused.map(({ action, refusal }) => ({
    ...action,
    recipient,
    failure: failureOf(refusal, { kind: action.kind, recipient }),
  }))
  const collected = isCollect ? { recipient, chosen: actions } : keptLayout(request)
  return buildPage(pageDeps(ctx), visit, { cookies, query: isOwn ? tap : undefined, tried, collected })
}

/** Redirects, so that loading the page again shows the result. */
const isStored = ({ actions }: TapPage, form: Form): boolean =>
  form.actions.every((done) =>
    actions.some(
      ({ kind, id, state }) => kind === done.kind && id === done.id && !/^(open|closed)$/.test(state.is),
    ),
  )

/** The cookies given to the browser of a page's tap. */
const cookieOf = ({ seals }: Context, { tap }: Visit): string => seals.cookie({ id: tap.tapId, at: tap.at })

/** A registration can extend a visit beyond its cookie. */
function keepCookie(ctx: Context, visit: Visit, request: FastifyRequest, reply: FastifyReply): void {
  const { names, values } = cookiesOf(request)
  const at = values.indexOf(cookieOf(ctx, visit))
  const [name, value] = [names[at], values[at]]
  const maxAgeSeconds = Math.floor((Date.parse(visit.expiresAt) - ctx.clock.now()) / 1000)
  if (name !== undefined && value !== undefined)
    setCookie(ctx, request, reply, { name, value, maxAgeSeconds })
}

/** Accepts forms as browsers send them, and nothing else. Repeated fields: the first counts. */
export function acceptForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) =>
      body.includes('%00') || body.includes('\0')
        ? done(invalid('body', nulProblem))
        : done(null, new URLSearchParams(body)),
  )
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(
      new DomainError(
        'unsupported_media_type',
        'This address takes forms. Send application/x-www-form-urlencoded.',
      ),
    ),
  )
}
