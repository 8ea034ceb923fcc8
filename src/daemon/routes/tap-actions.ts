import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../domain/access/credentials.ts'
import { pageStringsOfChip } from '../domain/access/page-strings.ts'
import { DomainError, effectsOf, invalid, storeFailure } from '../domain/errors/errors.ts'
import { act } from '../domain/tap-page/act.ts'
import { buildPage } from '../domain/tap-page/build.ts'
import { checkRecipient } from '../domain/tap-page/check.ts'
import type { TapPage } from '../domain/tap-page/content.ts'
import { failureOf } from '../domain/tap-page/failure.ts'
import { PageNotices } from '../domain/tap-page/live.ts'
import { findVisit, type Visit } from '../domain/tap-page/visit.ts'
import { statusOf } from '../http/errors.ts'
import { nulProblem } from '../http/parse-input.ts'
import { TokenBucket } from '../http/token-bucket.ts'
import { checkLine, resultId } from '../pages/tap/cards.ts'
import { pathOf } from '../pages/tap/settings.ts'
import { tapPage } from '../pages/tap/tap-page.ts'
import type { Context } from '../process/context.ts'
import { type Form, formOf, refOf, wantsJson } from './tap-forms.ts'
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
    const refusal = await press(ctx, form, { visit, actor })
    notices.notify(form.ref)
    const status = refusal === undefined ? 200 : statusOf[refusal.code]
    const { retryAfterSeconds } = refusal?.detail ?? {}
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    const shown = async () => {
      const after = await findVisit(ctx, form.ref)
      return { after, page: await pageAfter(ctx, form, { visit: after, request, refusal }) }
    }
    const { after, page } = await shown().catch((error: unknown) => {
      // The action may have been carried out, even if the page cannot be shown.
      throw refusal?.code === 'outcome_unknown' ? refusal : (failureOfStore(error, actor) ?? error)
    })
    keepCookie(ctx, after, request, reply)
    const settings = pageSettings(ctx, request.headers['accept-language'])
    if (wantsJson(request)) return reply.code(status).send(cardsOf(page, settings))
    if (refusal === undefined && page.query !== undefined && isStored(page, form))
      return reply.redirect(pathOf(settings, `/t?${page.query}#${resultId(form)}`), 303)
    return sendPage(reply, status, tapPage(page, settings, refusal !== undefined), settings)
  })

  app.post('/t/check', { bodyLimit }, async (request, reply) => {
    reply.headers(privateHeaders)
    const form = formOf(request)
    const visit = await visitOf(form.ref, 'check')
    const check = await checkRecipient(ctx, visit, form)
    const ownWords = await pageStringsOfChip(ctx, visit.tap.uid)
    const settings = { ...pageSettings(ctx, request.headers['accept-language']), ownWords }
    return { html: checkLine(check, settings), isGood: check.is === 'good' }
  })

  reserveRoute(app, ctx, { bodyLimit, visitOf: (ref) => visitOf(ref, 'act') })
  keptRoutes(app, ctx, { bodyLimit })
  liveRoute(app, ctx, { notices, bodyLimit, visitOf: (request) => visitOf(refOf(request), 'live') })
}

/** @returns the reason if nothing was done */
async function press(
  ctx: Context,
  { kind, id, recipient, deviceId }: Form,
  { visit, actor }: { visit: Visit; actor: Actor },
): Promise<DomainError | undefined> {
  try {
    await act(pageDeps(ctx), visit, { kind, id, recipient, deviceId, actor })
    return undefined
  } catch (error) {
    const refusal = failureOfStore(error, actor) ?? error
    if (refusal instanceof DomainError) return refusal
    throw error
  }
}

/** Pressing a button again does nothing twice. */
const failureOfStore = (error: unknown, actor: Actor): DomainError | undefined =>
  storeFailure(error, { ...effectsOf(actor), isOneUse: true })

function pageAfter(
  ctx: Context,
  { kind, id, recipient, tap }: Form,
  { visit, request, refusal }: { visit: Visit; request: FastifyRequest; refusal: DomainError | undefined },
): Promise<TapPage> {
  const { values: cookies } = cookiesOf(request)
  const isOwn = cookies.includes(cookieOf(ctx, visit))
  const tried = refusal && { kind, id, recipient, failure: failureOf(refusal, { kind, recipient }) }
  return buildPage(pageDeps(ctx), visit, { cookies, query: isOwn ? tap : undefined, tried })
}

/** Redirects, so that loading the page again shows the result. */
const isStored = ({ actions }: TapPage, form: Form): boolean =>
  actions.some(
    ({ kind, id, state }) => kind === form.kind && id === form.id && !/^(open|closed)$/.test(state.is),
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
