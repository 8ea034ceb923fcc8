import type { FastifyInstance, FastifyRequest } from 'fastify'
import { DomainError, notFound } from '../domain/errors/errors.ts'
import type { ActionKind, ActionName, Collected } from '../domain/tap-page/content.ts'
import { PageOver } from '../domain/tap-page/visit.ts'
import { refusalPage } from '../pages/tap/refusals.ts'
import type { Context } from '../process/context.ts'
import { lookOf, pageSettings, sendPage } from './tap-page-answer.ts'

/** A form of a tap page. */
export interface Form {
  ref: string
  /** What it does, each once; for several actions, those that are ticked. */
  actions: ActionName[]
  /** The form for several actions. */
  isCollect: boolean
  recipient: string
  deviceId: string | undefined
  /** The query of the chip's URL, for the way back. */
  tap: string | undefined
}

const kinds: readonly ActionKind[] = ['register', 'claim', 'badge', 'guestbook']

const valuesOf = ({ body }: FastifyRequest) =>
  body instanceof URLSearchParams ? body : new URLSearchParams()

export const fieldsOf = (request: FastifyRequest) => {
  const fields = valuesOf(request)
  return (name: string) => fields.get(name) ?? ''
}

/** An open page stays as it was laid out, whatever becomes of its actions. */
export const keptLayout = (request: FastifyRequest): Collected | undefined =>
  fieldsOf(request)('layout') === 'collect' ? {} : undefined

/** The page's own ref, which authorizes everything. @throws DomainError not_found */
export function refOf(request: FastifyRequest): string {
  const ref = fieldsOf(request)('ref')
  if (ref === '') throw notFound('ref')
  return ref
}

/** The query of a chip's URL, as included in each form; undefined: it cannot be a chip's. */
export const returnQuery = (query: string): string | undefined =>
  /^[\w%=&.+-]{1,1000}$/.test(query) ? query : undefined

/** More than a page has. */
const maxActions = 200

/** @throws DomainError invalid_input */
function actionOf(key: string): ActionName {
  const [, word, id] = /^([a-z]+)-(\d{1,15})$/.exec(key) ?? []
  const kind = kinds.find((one) => one === word)
  if (kind === undefined)
    throw new DomainError('invalid_input', 'kind and id must name an action of the page. Load it again.')
  return { kind, id: Number(id) }
}

/** @throws DomainError not_found without a ref, invalid_input */
export function formOf(request: FastifyRequest): Form {
  const field = fieldsOf(request)
  const ref = refOf(request)
  const isCollect = field('kind') === 'collect'
  const keys = isCollect ? valuesOf(request).getAll('choice') : [`${field('kind')}-${field('id') || '0'}`]
  return {
    ref,
    actions: [...new Set(keys.slice(0, maxActions))].map(actionOf),
    isCollect,
    recipient: field('recipient').slice(0, 1000),
    deviceId: field('deviceId').slice(0, 200) || undefined,
    tap: returnQuery(field('tap')),
  }
}

/** The page's script asks for JSON, a browser for a page. */
export const wantsJson = ({ headers }: FastifyRequest): boolean =>
  /\b(json|event-stream)\b/.test(headers.accept ?? '')

/** Answers for expired pages, with the reason. */
export function answerOverPages(app: FastifyInstance, ctx: Context): void {
  app.setErrorHandler(async (error, request, reply) => {
    if (!(error instanceof PageOver)) throw error
    const { message, reason, chip } = error
    const status = reason === 'disabled' ? 404 : 410
    if (wantsJson(request)) {
      const words = reason === 'disabled' ? 'Not Found' : 'Gone'
      const code = `tap_${reason}`
      return reply
        .code(status)
        .header('cache-control', 'no-store')
        .send({ statusCode: status, error: words, message, code, requestId: request.id })
    }
    const settings = pageSettings(ctx, request.headers['accept-language'])
    const look = await lookOf(ctx, chip)
    return sendPage(reply, status, refusalPage(reason, settings, look), settings)
  })
}
