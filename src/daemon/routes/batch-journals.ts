import type { FastifyInstance, FastifyReply } from 'fastify'
import type * as z from 'zod'
import type { Context } from '../context.ts'
import type { endpoints } from '../contract/index.ts'
import {
  appendToBatch,
  holdBatch,
  listOwnBatches,
  readJournal,
  removeBatch,
} from '../domain/batch-journals.ts'
import type { BatchCaller } from '../domain/batch-rights.ts'
import { bindAll, type Call } from '../http/bind.ts'
import { mapped, sendLines } from '../http/streams.ts'
import { pick } from './wire-shapes.ts'

const defaultLimit = 100

type WithKey = Pick<Call<(typeof endpoints)['GET /batch-journals']>, 'actor' | 'teamId' | 'scopes'>
type WithToken = Pick<Call<(typeof endpoints)['GET /admin/batch-journals']>, 'actor' | 'token'>

const callerOf = (call: WithKey | WithToken): BatchCaller =>
  'token' in call
    ? { actor: call.actor, teamId: undefined, scopes: call.token.scopes }
    : { actor: call.actor, teamId: call.teamId, scopes: call.scopes }

type Hold = z.output<ReturnType<(typeof endpoints)['POST /batch-journals/:id/hold']['body']>>
type Append = z.output<ReturnType<(typeof endpoints)['POST /batch-journals/:id/journal']['body']>>

const list = async (
  ctx: Context,
  teamId: number | undefined,
  { id, limit = defaultLimit }: { id?: string | undefined; limit?: number | undefined },
) =>
  (await listOwnBatches(ctx, { teamId, id, limit })).map((batch) => ({
    ...pick(
      batch,
      'id',
      'kind',
      'state',
      'host',
      'place',
      'context',
      'team',
      'startedAt',
      'startedBy',
      'heardAt',
    ),
    ...pick(batch, 'lease', 'length', 'done', 'failed', 'total'),
  }))

const hold = (ctx: Context, caller: BatchCaller, id: string, body: Hold) =>
  holdBatch(ctx, caller, id, { ...body, takeOver: body.takeOver ?? false })

const append = (ctx: Context, caller: BatchCaller, id: string, { chunk, ...told }: Append) => {
  const decoded = chunk && { ...chunk, data: Buffer.from(chunk.data, 'base64') }
  return appendToBatch(ctx, caller, id, { ...told, chunk: decoded })
}

const sendJournal = async (ctx: Context, caller: BatchCaller, id: string, reply: FastifyReply) => {
  const chunks = await readJournal(ctx, caller, id)
  return sendLines(
    reply,
    mapped(chunks, (chunk) => ({ ...chunk, data: chunk.data.toString('base64') })),
  )
}

const remove = async (ctx: Context, caller: BatchCaller, id: string) => {
  await removeBatch(ctx, caller, id)
  return { success: true as const }
}

export function journalRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /batch-journals': async ({ query, teamId }) => list(ctx, teamId, query),
    'POST /batch-journals/:id/hold': async ({ params, body, ...call }) =>
      hold(ctx, callerOf(call), params.id, body),
    'POST /batch-journals/:id/journal': async ({ params, body, ...call }) =>
      append(ctx, callerOf(call), params.id, body),
    'GET /batch-journals/:id/journal': async ({ params, reply, ...call }) =>
      sendJournal(ctx, callerOf(call), params.id, reply),
    'DELETE /batch-journals/:id': async ({ params, ...call }) => remove(ctx, callerOf(call), params.id),
  })
}

export function adminJournalRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/batch-journals': async ({ query }) => list(ctx, undefined, query),
    'POST /admin/batch-journals/:id/hold': async ({ params, body, ...call }) =>
      hold(ctx, callerOf(call), params.id, body),
    'POST /admin/batch-journals/:id/journal': async ({ params, body, ...call }) =>
      append(ctx, callerOf(call), params.id, body),
    'GET /admin/batch-journals/:id/journal': async ({ params, reply, ...call }) =>
      sendJournal(ctx, callerOf(call), params.id, reply),
    'DELETE /admin/batch-journals/:id': async ({ params, ...call }) => remove(ctx, callerOf(call), params.id),
  })
}
