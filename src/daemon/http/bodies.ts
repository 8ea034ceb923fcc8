import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import { mayLoseDigits, parseExact } from '../../values/json.ts'
import { excessOf } from '../../values/json-bounds.ts'
import { TimeSlice } from '../../values/time-slices.ts'
import { DomainError, invalid } from '../domain/errors/errors.ts'
import { answerTo, disconnected, rawAnswer } from './errors.ts'
import { noteNul } from './parse-input.ts'

// No list of UIDs is this long. The start of a longer body is only read to explain the excess.
const maxJsonBytes = 4 * 1024 * 1024
const longToParse = 64 * 1024

/**
 * Accepts JSON under any content type, since existing clients send it as text or as a form, and empty bodies under
 * any.
 */
export function acceptBodies(app: FastifyInstance): void {
  const parseJson = jsonParser(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, parseJson)
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, body, done) =>
    // JSON that is refused for its contents stays a 400.
    parseJson(request, body, (error, value) =>
      done(error && isUnreadable(error) && !isJson(body) ? notJson() : error, value),
    ),
  )
}

/**
 * Accepts JSON only under its own content type: a page of another origin can send every other type without a
 * preflight.
 */
export function acceptJsonAlone(app: FastifyInstance): void {
  const parseJson = jsonParser(app)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, parseJson)
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) =>
    text.length === 0 ? done(null, undefined) : done(notJson()),
  )
}

const notJson = () =>
  new DomainError(
    'unsupported_media_type',
    'This endpoint takes JSON. Send a JSON body with content-type: application/json.',
  )

const isUnreadable = (error: Error): boolean =>
  'code' in error && error.code === 'FST_ERR_CTP_INVALID_JSON_BODY'

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString())
    return true
  } catch {
    return false
  }
}

type ParseBody = (
  request: FastifyRequest,
  body: Buffer,
  done: (error: Error | null, value?: unknown) => void,
) => void

function jsonParser(app: FastifyInstance): ParseBody {
  const parse = app.getDefaultJsonParser('error', 'error')
  return (request, body, done) => {
    assertBounded(body).then(
      () => {
        const text = body.toString()
        // Browsers send the content type with an empty body on GET and DELETE.
        if (text.trim() === '') done(null, undefined)
        else
          void parse(request, text, (error, parsed) => {
            const value = error || !mayLoseDigits(text) ? parsed : parseExact(text)
            noteNul(text, value)
            done(error, value)
          })
      },
      (error: DomainError) => done(error),
    )
  }
}

/** @throws DomainError invalid_input, too_large */
async function assertBounded(body: Buffer): Promise<void> {
  const excess = await excessOf(body.subarray(0, maxJsonBytes))
  if (excess) throw invalid(excess.field ?? 'body', excess.reason)
  if (body.length > maxJsonBytes)
    throw new DomainError('too_large', `The body is over ${maxJsonBytes} bytes. Send it in smaller parts.`)
  // Parsing cannot be sliced, so each of several concurrent large bodies gets its own turn.
  if (body.length > longToParse) await new TimeSlice().next()
}

/**
 * Ends the stream that a GET would have answered with: nobody reads it after a HEAD request, and it may never end by
 * itself.
 */
export function endHeadStreams(app: FastifyInstance): void {
  // Added to these routes only: a global hook would run for every response.
  app.addHook('onRoute', (route) => {
    if (![route.method].flat().includes('HEAD')) return
    route.onSend = [endStream, ...[route.onSend ?? []].flat()]
  })
}

const endStream: onSendHookHandler = (_request, _reply, payload, done) => {
  if (!(payload instanceof Readable)) return done(null, payload)
  payload.destroy()
  done(null, Readable.from([]))
}

export function acceptStreams(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, chunksOf(payload)))
}

/**
 * A body as it arrives. What is left of one that is not read to its end is dropped: Node would destroy the request and
 * set its `socket` to null, and a client that is still sending would not see the answer.
 */
async function* chunksOf(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* body.iterator({ destroyOnReturn: false })
  } catch (error) {
    throw error instanceof DomainError ? error : disconnected()
  } finally {
    body.resume()
  }
}

const defaultBodyBytes = 1024 * 1024
const looks = 3
/** Per check, for a long body that is not a stream: no usable connection is slower. */
const minBytes = 4096

/**
 * Ends a request whose body is not complete in time. A long body, such as a sheet with a million rows, must
 * only keep arriving, a stream at any pace; once the request is answered, the usual limit applies.
 */
export function endSlowBodies(app: FastifyInstance, ms: number): void {
  // Before authentication, because a body that is never read also keeps its connection busy.
  app.addHook('onRequest', (request, reply, done) => {
    const { headers } = request
    if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
      watch(request, reply, ms)
    done()
  })
}

function watch(request: FastifyRequest, reply: FastifyReply, ms: number): void {
  const { raw, routeOptions } = request
  const { socket } = raw
  const isStream = routeOptions.config.isLong === true
  const mayBeLong = isStream || (routeOptions.bodyLimit ?? 0) > defaultBodyBytes
  const required = isStream ? 1 : minBytes
  let seen = socket.bytesRead
  let lacking = 0
  const timer = setInterval(() => {
    if (raw.complete) {
      clearInterval(timer)
      return
    }
    // Data that arrived but was not read yet is not the sender's delay.
    const hasMoved = socket.bytesRead >= seen + required || raw.readableLength > 0
    seen = socket.bytesRead
    lacking = mayBeLong && hasMoved && !reply.raw.writableEnded ? 0 : lacking + 1
    if (lacking < looks) return
    clearInterval(timer)
    const error = new DomainError(
      'too_slow',
      `The body did not arrive within ${Math.ceil(ms / 1000)} seconds. Check the connection, and send it again.`,
    )
    if (!reply.raw.headersSent) {
      const isReadable = reply.hasHeader('access-control-allow-origin')
      socket.write(rawAnswer(answerTo(error, request.id).body, isReadable))
    }
    raw.destroy(error)
  }, ms / looks).unref()
  raw.once('close', () => clearInterval(timer))
}
