import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { stringifyExact } from '../../values/json.ts'
import type { Progress } from '../domain/errors/errors.ts'
import { isAnonymous } from './auth.ts'
import { answerTo } from './errors.ts'
import { progressOf } from './repeatable.ts'

const flushAt = 64 * 1024

/** Joins text into larger chunks: sending a chunk per line would cost more than the line. */
async function* gathered(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let buffered = ''
  let failure: { error: unknown } | undefined
  try {
    for await (const piece of pieces) {
      buffered += piece
      if (buffered.length < flushAt) continue
      yield buffered
      buffered = ''
    }
  } catch (error) {
    failure = { error }
  }
  // Lines before a failure are sent, because their work is done.
  if (buffered !== '') yield buffered
  if (failure) throw failure.error
}

export const sendLines = (reply: FastifyReply, lines: AsyncIterable<unknown>): FastifyReply =>
  sendLineText(reply, gathered(asJsonLines(lines)))

export async function* asJsonLines(lines: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const line of lines) yield `${stringifyExact(line)}\n`
}

/**
 * Answers with JSON lines that are already text. An error after the first line is sent as a last line in the usual
 * error format, because the status is already sent.
 */
export const sendLineText = (reply: FastifyReply, pieces: AsyncIterable<string>): FastifyReply =>
  reply.type('application/x-ndjson').send(Readable.from(endingInError(reply, pieces), { objectMode: false }))

const linesBefore: Progress = {
  stands: 'The lines above were done, and the rest was not. Send the rest again later.',
  outcomeMessage:
    'The lines above were done; of the rest, some may have been. Check before you send it again.',
}

async function* endingInError(
  { request }: FastifyReply,
  pieces: AsyncIterable<string>,
): AsyncGenerator<string> {
  let hasEnded = false
  try {
    for await (const piece of pieces) {
      // What was read is withheld from a credential that has ended; what was written is told, and the rest not begun.
      if (request.method === 'GET') request.reauthenticate?.()
      hasEnded = true
      yield piece
      if (request.method !== 'GET') request.reauthenticate?.()
    }
  } catch (error) {
    // The client has received a line for each commit.
    const progress = hasEnded ? linesBefore : progressOf(request)
    const { body, isOurs } = answerTo(error, request.id, { isAnonymous: isAnonymous(request), progress })
    if (isOurs) request.log.error({ err: error, route: request.routeOptions.url }, 'stream failed')
    yield `${JSON.stringify(body)}\n`
  }
}

export async function* mapped<T, R>(items: AsyncIterable<T>, map: (item: T) => R): AsyncGenerator<R> {
  for await (const item of items) yield map(item)
}

export const sendJsonArray = (reply: FastifyReply, elements: AsyncIterable<unknown>): FastifyReply =>
  sendJsonText(reply, arrayText(elements))

async function* arrayText(elements: AsyncIterable<unknown>): AsyncGenerator<string> {
  let glue = '['
  for await (const element of elements) {
    yield glue + stringifyExact(element)
    glue = ','
  }
  yield glue === '[' ? '[]' : ']'
}

export function sendJsonText(reply: FastifyReply, pieces: AsyncIterable<string>): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .send(Readable.from(gathered(pieces), { objectMode: false }))
}
