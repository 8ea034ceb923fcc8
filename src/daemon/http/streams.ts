import { Readable } from 'node:stream'
import { TextDecoder } from 'node:util'
import type { FastifyReply } from 'fastify'
import { DomainError } from '../domain/errors.ts'
import { isStranger } from './auth.ts'
import { answerTo } from './errors.ts'

// No row is as long, and a line without end would be read over and over.
const longestLine = 64 * 1024

/** Cuts a body into lines, empty ones left out; no body at all has none. @throws DomainError too_large */
export async function* linesOf(
  body: AsyncIterable<Uint8Array> | undefined,
  limit: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let seen = 0
  let rest = ''
  for await (const chunk of body ?? []) {
    seen += chunk.length
    if (seen > limit)
      throw new DomainError('too_large', `The body is over ${limit} bytes. Send it in smaller parts.`)
    const lines = (rest + decodeChunk(decoder, chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine)
      throw new DomainError('invalid_input', `body has a line of over ${longestLine} characters`)
    for (const line of lines) if (line.trim() !== '') yield line
  }
  rest += decodeChunk(decoder, undefined)
  if (rest.trim() !== '') yield rest
}

function decodeChunk(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch {
    throw new DomainError('invalid_input', 'body is not valid UTF-8')
  }
}

const flushAt = 64 * 1024

/** Joins text into pieces worth sending: a chunk a line would cost more than the line. */
async function* gathered(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let held = ''
  let failure: { error: unknown } | undefined
  try {
    for await (const piece of pieces) {
      held += piece
      if (held.length < flushAt) continue
      yield held
      held = ''
    }
  } catch (error) {
    failure = { error }
  }
  // What came before a failure was done, and is told.
  if (held !== '') yield held
  if (failure) throw failure.error
}

/** Answers with JSON lines as they come. */
export const sendLines = (reply: FastifyReply, lines: AsyncIterable<unknown>): FastifyReply =>
  sendLineText(reply, gathered(asJsonLines(lines)))

async function* asJsonLines(lines: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const line of lines) yield `${JSON.stringify(line)}\n`
}

/**
 * Answers with pieces of text that are JSON lines already. What goes wrong after the first of them is a last line
 * in the shape of an error, since the status is long sent.
 */
export const sendLineText = (reply: FastifyReply, pieces: AsyncIterable<string>): FastifyReply =>
  reply.type('application/x-ndjson').send(Readable.from(endingInError(reply, pieces), { objectMode: false }))

async function* endingInError(
  { request }: FastifyReply,
  pieces: AsyncIterable<string>,
): AsyncGenerator<string> {
  try {
    yield* pieces
  } catch (error) {
    const { body, isOurs } = answerTo(error, request.id, isStranger(request))
    if (isOurs)
      request.log.error(
        { requestId: request.id, err: error, route: request.routeOptions.url },
        'stream failed',
      )
    yield `${JSON.stringify(body)}\n`
  }
}

/** Answers with text that is JSON already. */
export function sendJsonText(reply: FastifyReply, pieces: AsyncIterable<string>): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .send(Readable.from(gathered(pieces), { objectMode: false }))
}
