import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { nanoid } from 'nanoid'
import { stringifyExact } from '../../values/json.ts'
import type { Config } from '../config/config.ts'
import { DomainError } from '../domain/errors/errors.ts'
import { prefersHtml } from '../http/accept.ts'
import { listenerConstraint, restrictToOperators } from '../http/administration.ts'
import { isAnonymous } from '../http/auth.ts'
import { refuseOtherDryRuns, takeDryRunPrefix } from '../http/bind.ts'
import {
  acceptBodies,
  acceptJsonAlone,
  acceptStreams,
  endHeadStreams,
  endSlowBodies,
} from '../http/bodies.ts'
import { answerInTurn, endConnections, limitConnections, sharedAddresses } from '../http/connections.ts'
import { allowAnyOrigin, PageAccess } from '../http/cors.ts'
import { errorLog } from '../http/error-log.ts'
import type { ErrorPages } from '../http/errors.ts'
import { answerBrokenHttp, answerTo, disconnected, isUnsent } from '../http/errors.ts'
import { watchForProxies } from '../http/forwarded.ts'
import { refuseNulInUrls } from '../http/parse-input.ts'
import { limitRates } from '../http/rate-limit.ts'
import { progressOf } from '../http/repeatable.ts'
import { chipStreamRoutes } from '../routes/admin/chips.ts'
import { adminRoutes } from '../routes/admin/index.ts'
import { badgeEventFormRoutes, badgeEventRoutes } from '../routes/badge-events.ts'
import { adminBatchUploadRoutes, batchUploadRoutes, ownBatchRoutes } from '../routes/batches.ts'
import { chipGroupRoutes } from '../routes/chip-groups.ts'
import { batchRoutes, chipRoutes } from '../routes/chips.ts'
import { docsPageRoutes } from '../routes/docs-page.ts'
import { eventRoutes } from '../routes/events.ts'
import { itemRoutes } from '../routes/items.ts'
import { metadataRoutes } from '../routes/metadata.ts'
import { openApiRoutes } from '../routes/openapi.ts'
import { otpRoutes } from '../routes/otps.ts'
import { phygitalBatchRoutes } from '../routes/phygital-batches.ts'
import { phygitalRoutes } from '../routes/phygitals.ts'
import { poapReadRoutes } from '../routes/poap-reads.ts'
import { publicPageRoutes } from '../routes/public-page.ts'
import { refRoutes } from '../routes/refs.ts'
import { serviceRoutes } from '../routes/service.ts'
import { tapActionRoutes } from '../routes/tap-actions.ts'
import { answerOverPages } from '../routes/tap-forms.ts'
import { tapPageRoutes } from '../routes/tap-page.ts'
import { sendHomePage, tapErrorPages } from '../routes/tap-page-answer.ts'
import { tapPageAssetRoutes } from '../routes/tap-page-assets.ts'
import { teamRoutes } from '../routes/team.ts'
import { publicTransactionRoutes } from '../routes/transactions.ts'
import { isShared } from '../store/database/database.ts'
import { WaitBudget, withWaitBudget } from '../store/database/wait-budget.ts'
import type { Context } from './context.ts'
import { observe } from './metrics.ts'
import { rememberRequests } from './uncaught.ts'

/** In milliseconds; tests use less. */
export interface Timeouts {
  readonly requestMs: number
  readonly queueMs: number
  /** The answer to a key is delayed by this much if the client is guessing. */
  readonly guessMs?: number
}

/** Builds the HTTP application; the caller makes it listen, or injects requests. */
export async function buildApp(
  ctx: Context,
  { requestMs, queueMs, guessMs = 1000 }: Timeouts = { requestMs: 30_000, queueMs: 10_000 },
): Promise<FastifyInstance> {
  const logError = errorLog(ctx.log, ctx.clock)
  const pages = new PageAccess(ctx.wire)
  const errorPages = tapErrorPages(ctx)
  const options: FastifyServerOptions = {
    loggerInstance: ctx.log as FastifyBaseLogger,
    // `observe` logs answers by their route, at level debug.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    // Handlers whose GET uses something up check the method.
    exposeHeadRoutes: true,
    // Requests that arrive while the daemon drains are answered; their connections close afterwards.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Long enough for the largest import in one request. Headers and stalled bodies have shorter limits.
    requestTimeout: 3_600_000,
    keepAliveTimeout: 72_000,
    // Applies to silence in either direction.
    connectionTimeout: 120_000,
    bodyLimit: 1024 * 1024,
    routerOptions: { maxParamLength: 300, ignoreTrailingSlash: true, constraints: listenerConstraint },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    trustProxy: trustedProxies(ctx.config.trustProxy),
    genReqId: requestIds(),
    rewriteUrl: takeDryRunPrefix,
    clientErrorHandler: answerBrokenHttp(errorPages),
    frameworkErrors: (error, request, reply: FastifyReply) => {
      const answer = answerTo(error, request.id)
      logError(request, error, answer)
      if (pages.isUnknown(request.raw.url ?? '/')) allowAnyOrigin(reply)
      if (errorPages.send(request, reply, failedOf(answer))) return
      void reply.code(answer.body.statusCode).send(answer.body)
    },
  }
  const http = { headersTimeout: requestMs, connectionsCheckingInterval: requestMs / 6 }
  const app = Fastify({ ...options, http })
  // Headers are limited only in bytes, not in number: a proxy's header may be the last one.
  app.server.maxHeadersCount = 0
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  app.decorateRequest('caller', null)
  app.decorateRequest('reauthenticate', null)
  app.setReplySerializer((payload) => stringifyExact(payload))
  answerInTurn(app)
  rememberRequests(app)
  pages.watch(app)
  limitConnections(app.server, ctx.config, sharedAddresses(ctx.config.trustProxy), ctx.log)
  endConnections(app, ctx)
  endSlowBodies(app, requestMs)
  watchForProxies(app, ctx)
  answerErrors(app, limitRates(app, ctx, { queueMs, guessMs }), {
    logError,
    errorPages,
    sendHome: (request, reply) => sendHomePage(ctx, request, reply),
  })
  refuseOtherDryRuns(app)
  refuseNulInUrls(app)
  acceptBodies(app)
  endHeadStreams(app)
  observe(app, ctx)
  if (isShared(ctx.db)) limitPatience(app)

  serviceRoutes(app, ctx)
  openApiRoutes(app, ctx)
  docsPageRoutes(app)
  tapPageAssetRoutes(app)
  metadataRoutes(app, ctx)
  publicPageRoutes(app, ctx)
  await app.register(async (pages) => {
    answerOverPages(pages, ctx)
    tapPageRoutes(pages, ctx)
    await pages.register(async (forms) => tapActionRoutes(forms, ctx))
  })
  await app.register(async (open) => {
    chipRoutes(open, ctx)
    refRoutes(open, ctx)
    otpRoutes(open, ctx)
    itemRoutes(open, ctx)
    phygitalRoutes(open, ctx)
    badgeEventRoutes(open, ctx)
    poapReadRoutes(open, ctx)
    publicTransactionRoutes(open, ctx)
    eventRoutes(open, ctx)
    chipGroupRoutes(open, ctx)
    teamRoutes(open, ctx)
    ownBatchRoutes(open, ctx)
    await open.register(async (streams) => {
      acceptStreams(streams)
      batchRoutes(streams, ctx)
      batchUploadRoutes(streams, ctx)
      badgeEventFormRoutes(streams, ctx)
      phygitalBatchRoutes(streams, ctx)
    })
  })
  await app.register(async (admin) => {
    restrictToOperators(admin, ctx.config)
    acceptJsonAlone(admin)
    adminRoutes(admin, ctx)
    await admin.register(async (streams) => {
      acceptStreams(streams)
      chipStreamRoutes(streams, ctx)
      adminBatchUploadRoutes(streams, ctx)
    })
  })
  return app
}

/** Fastify loads its JSON schema compilers at every start unless others are given. No endpoint uses them. */
function noSchemas(): never {
  throw new Error('endpoints are described in the contract, not by schemas of Fastify')
}

function trustedProxies(trust: Config['trustProxy']): NonNullable<FastifyServerOptions['trustProxy']> {
  if (typeof trust === 'number') return (_address, hop) => hop < trust
  return trust === undefined ? false : [...trust]
}

/** Short, unique across restarts, and cheap to make. */
function requestIds(): () => string {
  const start = nanoid(6)
  let count = 0
  return () => `${start}-${(++count).toString(36)}`
}

const failedOf = ({ body, retryAfterSeconds }: ReturnType<typeof answerTo>) => ({
  status: body.statusCode,
  code: body.code,
  retryAfterSeconds,
})

/** Limits how long a request waits for a silent database, however many steps it has. */
function limitPatience(app: FastifyInstance): void {
  const waitBudgetOf = new WeakMap<FastifyRequest, WaitBudget>()
  // The last hook before the handler; the body is read after it.
  app.addHook('preHandler', (request, _reply, done) => {
    const waitBudget = new WaitBudget()
    waitBudgetOf.set(request, waitBudget)
    withWaitBudget(waitBudget, done)
  })
  app.addHook('onResponse', (request, _reply, done) => {
    const waitBudget = waitBudgetOf.get(request)
    if (waitBudget) waitBudget.isExhausted = true
    done()
  })
}

function answerErrors(
  app: FastifyInstance,
  reports: ReturnType<typeof limitRates>,
  {
    logError,
    errorPages,
    sendHome,
  }: {
    logError: ReturnType<typeof errorLog>
    errorPages: ErrorPages
    sendHome: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
  },
): void {
  app.setErrorHandler((thrown, request, reply) => {
    const error = isUnsent(thrown, reply.raw) ? disconnected() : thrown
    const answer = answerTo(reports(request, error), request.id, {
      isAnonymous: isAnonymous(request),
      progress: progressOf(request),
    })
    const { body, retryAfterSeconds } = answer
    logError(request, error, answer)
    reply.header('x-request-id', request.id)
    if (retryAfterSeconds !== undefined) {
      reply.header('retry-after', retryAfterSeconds)
    }
    reply.header('cache-control', 'no-store')
    if (errorPages.send(request, reply, failedOf(answer))) return
    void reply.code(body.statusCode).type('application/json; charset=utf-8').send(body)
  })
  // Not a route: programs get the answer of every path that does not exist.
  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead && /^\/(\?|$)/.test(request.url) && prefersHtml(request)) return sendHome(request, reply)
    throw new DomainError(
      'not_found',
      `There is no ${request.method} at this path. See /openapi.json for the available endpoints.`,
    )
  })
}
