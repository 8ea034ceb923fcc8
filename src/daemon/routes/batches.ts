import type { FastifyInstance, FastifyReply } from 'fastify'
import type * as z from 'zod'
import { stringifyExact } from '../../values/json.ts'
import { endpoints } from '../contract/index.ts'
import { credentialId } from '../domain/access/credentials.ts'
import { namedTeam, resolveTeam } from '../domain/access/teams.ts'
import {
  type BatchCaller,
  batchOf,
  createBatch,
  listOwnBatches,
  nameOf,
  settingsOf,
  totalsOf,
} from '../domain/batches/batches.ts'
import { uploadFile } from '../domain/batches/files.ts'
import { batchRows, type FollowLine, followBatch, reportBatch } from '../domain/batches/follow.ts'
import { planBatch } from '../domain/batches/plan.ts'
import {
  approveBatch,
  cancelBatch,
  pauseBatch,
  removeBatch,
  resumeBatch,
  startBatch,
} from '../domain/batches/steps.ts'
import { undoBatch } from '../domain/batches/undo.ts'
import { uploadRows } from '../domain/batches/upload.ts'
import { bindAll, type Call } from '../http/bind.ts'
import { readLines } from '../http/checked-lines.ts'
import { mapped, sendLines, sendLineText } from '../http/streams.ts'
import type { Context } from '../process/context.ts'
import { pick } from './wire-shapes.ts'

const defaultLimit = 100

type Caller = Pick<Call<(typeof endpoints)['GET /admin/batches']>, 'actor' | 'holder' | 'teamId'>
type Body = AsyncIterable<Uint8Array> | undefined
type KeyTeam = () => number | undefined
type Create = z.output<ReturnType<(typeof endpoints)['POST /batches']['body']>>
type List = z.output<ReturnType<(typeof endpoints)['GET /batches']['query']>>
type Batch = Awaited<ReturnType<typeof batchOf>>

const callerAt =
  (isAdmin: boolean) =>
  ({ actor, holder, teamId }: Caller): BatchCaller => ({
    actor,
    teamId: teamId ?? undefined,
    isAdmin,
    scopes: holder.scopes,
    credential: credentialId(holder),
  })

/** Endpoints that both kinds of credentials share. */
function stepsOf(ctx: Context) {
  const { batches } = ctx
  const show = (batch: Batch) => toWire(batches.shown(batch))
  const streams = new OpenStreams()
  return {
    streams,
    list: async (
      caller: BatchCaller,
      { team: name, state, limit = defaultLimit }: List,
      keyTeam: KeyTeam,
    ) => {
      const team = await namedTeam(ctx, { name, teamId: caller.teamId ?? null, keyTeam })
      const rows = await listOwnBatches(ctx, { teamId: team?.id }, { state, limit })
      return rows.map(show)
    },
    create: async (
      caller: BatchCaller,
      { team: name, propose, settings, ...body }: Create,
      keyTeam: KeyTeam,
    ) => {
      const team = await resolveTeam(ctx, { name, teamId: caller.teamId ?? null, keyTeam })
      const input = { ...body, teamId: team.id, isProposed: propose ?? false, settings: settings ?? {} }
      const { isNew, batch } = await createBatch(batches.deps, caller, input)
      return { isNew, batch: show(batch) }
    },
    show: async (caller: BatchCaller, id: string) => show(await batchOf(ctx.db.read, caller, id)),
    upload: async (caller: BatchCaller, id: string, from: number, body: Body) => {
      const lines = await readLines(body, endpoints['POST /batches/:id/rows'].bodyLimit)
      return { uploaded: await uploadRows(ctx, caller, id, { from, lines }) }
    },
    uploadFile: async (caller: BatchCaller, { id, hash }: { id: string; hash: string }, body: Body) => {
      await uploadFile(ctx, caller, id, { hash, bytes: body ?? [] })
      return { success: true as const }
    },
    plan: async (
      caller: BatchCaller,
      id: string,
      report: 'all' | 'exceptions' | 'none' | undefined,
      reply: FastifyReply,
    ) => sendLines(reply, reported(await planBatch(batches.deps, caller, id), report)),
    start: async (caller: BatchCaller, id: string) => {
      const batch = await startBatch(ctx, caller, id)
      batches.wake()
      return show(batch)
    },
    approve: async (caller: BatchCaller, id: string) => {
      const batch = await approveBatch(ctx, caller, id)
      batches.wake()
      return show(batch)
    },
    pause: async (caller: BatchCaller, id: string) => {
      const batch = await pauseBatch(ctx, caller, id)
      await batches.stopBatch(batch.id)
      return show(await batchOf(ctx.db.read, caller, batch.id))
    },
    resume: async (
      caller: BatchCaller,
      id: string,
      { retryFailed = false, rate }: { retryFailed?: boolean | undefined; rate?: number | undefined },
    ) => {
      const batch = await resumeBatch(ctx, caller, id, { retryFailed, rate })
      batches.wake()
      return show(batch)
    },
    cancel: async (caller: BatchCaller, id: string) => show(await cancelBatch(ctx, caller, id)),
    undo: async (
      caller: BatchCaller,
      id: string,
      from: { host?: string | undefined; context?: string | undefined },
    ) => show(await undoBatch(ctx, caller, id, from)),
    follow: async (caller: BatchCaller, id: string, after: number, reply: FastifyReply) => {
      const stopped = streams.open(reply)
      const deps = { ...pick(ctx, 'db', 'box'), signals: batches.signals }
      const lines = await followBatch(deps, caller, id, { after, stopped })
      const onWire = (line: FollowLine) =>
        typeof line === 'string' ? line : stringifyExact({ batch: show(line.batch) })
      const text = mapped(lines, (some) => some.map((line) => `${onWire(line)}\n`).join(''))
      // Keep-alive would delay a stopping daemon.
      return sendLineText(reply.header('connection', 'close'), text)
    },
    report: async (caller: BatchCaller, id: string, failed: boolean, reply: FastifyReply) =>
      sendLines(reply, await reportBatch(ctx, caller, id, failed)),
    remove: async (caller: BatchCaller, id: string) => {
      await removeBatch(ctx, caller, id)
      return { success: true as const }
    },
  }
}

/** Followers of a batch are disconnected when the daemon stops. */
class OpenStreams {
  readonly #open = new Set<AbortController>()

  open(reply: FastifyReply): AbortSignal {
    const stop = new AbortController()
    this.#open.add(stop)
    reply.raw.once('close', () => {
      stop.abort()
      this.#open.delete(stop)
    })
    return stop.signal
  }

  end(): void {
    for (const stop of this.#open) stop.abort()
  }
}

async function* reported<T extends object>(
  lines: AsyncIterable<T>,
  report: 'all' | 'exceptions' | 'none' = 'all',
): AsyncGenerator<T> {
  for await (const line of lines) {
    const status = 'status' in line ? line.status : undefined
    const isException = status === 'failed' || status === 'conflict'
    if (status === undefined || report === 'all' || (report === 'exceptions' && isException)) yield line
  }
}

export function ownBatchRoutes(app: FastifyInstance, ctx: Context): void {
  const callerOf = callerAt(false)
  const steps = stepsOf(ctx)
  app.addHook('preClose', async () => steps.streams.end())
  bindAll(app, ctx, {
    'GET /batches': ({ query, keyTeam, ...call }) => steps.list(callerOf(call), query, keyTeam),
    'POST /batches': ({ body, keyTeam, ...call }) => steps.create(callerOf(call), body, keyTeam),
    'GET /batches/:id': ({ params, ...call }) => steps.show(callerOf(call), params.id),
    'DELETE /batches/:id': ({ params, ...call }) => steps.remove(callerOf(call), params.id),
    'POST /batches/:id/plan': ({ params, query, reply, ...call }) =>
      steps.plan(callerOf(call), params.id, query.report, reply),
    'POST /batches/:id/start': ({ params, ...call }) => steps.start(callerOf(call), params.id),
    'POST /batches/:id/approve': ({ params, ...call }) => steps.approve(callerOf(call), params.id),
    'POST /batches/:id/pause': ({ params, ...call }) => steps.pause(callerOf(call), params.id),
    'POST /batches/:id/resume': ({ params, body, ...call }) => steps.resume(callerOf(call), params.id, body),
    'POST /batches/:id/cancel': ({ params, ...call }) => steps.cancel(callerOf(call), params.id),
    'POST /batches/:id/undo': ({ params, body, ...call }) => steps.undo(callerOf(call), params.id, body),
    'GET /batches/:id/follow': ({ params, query, reply, ...call }) =>
      steps.follow(callerOf(call), params.id, query.after ?? 0, reply),
    'GET /batches/:id/report': ({ params, query, reply, ...call }) =>
      steps.report(callerOf(call), params.id, query.failed ?? false, reply),
  })
}

export function adminBatchRoutes(app: FastifyInstance, ctx: Context): void {
  const callerOf = callerAt(true)
  const steps = stepsOf(ctx)
  app.addHook('preClose', async () => steps.streams.end())
  bindAll(app, ctx, {
    'GET /admin/batches': ({ query, keyTeam, ...call }) => steps.list(callerOf(call), query, keyTeam),
    'POST /admin/batches': ({ body, keyTeam, ...call }) => steps.create(callerOf(call), body, keyTeam),
    'GET /admin/batches/:id': ({ params, ...call }) => steps.show(callerOf(call), params.id),
    'DELETE /admin/batches/:id': ({ params, ...call }) => steps.remove(callerOf(call), params.id),
    'POST /admin/batches/:id/plan': ({ params, query, reply, ...call }) =>
      steps.plan(callerOf(call), params.id, query.report, reply),
    'POST /admin/batches/:id/start': ({ params, ...call }) => steps.start(callerOf(call), params.id),
    'POST /admin/batches/:id/approve': ({ params, ...call }) => steps.approve(callerOf(call), params.id),
    'POST /admin/batches/:id/pause': ({ params, ...call }) => steps.pause(callerOf(call), params.id),
    'POST /admin/batches/:id/resume': ({ params, body, ...call }) =>
      steps.resume(callerOf(call), params.id, body),
    'POST /admin/batches/:id/cancel': ({ params, ...call }) => steps.cancel(callerOf(call), params.id),
    'POST /admin/batches/:id/undo': ({ params, body, ...call }) =>
      steps.undo(callerOf(call), params.id, body),
    'GET /admin/batches/:id/follow': ({ params, query, reply, ...call }) =>
      steps.follow(callerOf(call), params.id, query.after ?? 0, reply),
    'GET /admin/batches/:id/rows': ({ params, query, ...call }) =>
      batchRows(ctx, callerOf(call), params.id, { limit: defaultLimit, ...query }),
    'GET /admin/batches/:id/report': ({ params, query, reply, ...call }) =>
      steps.report(callerOf(call), params.id, query.failed ?? false, reply),
  })
}

/** Rows and files are streamed. */
export function batchUploadRoutes(app: FastifyInstance, ctx: Context): void {
  const callerOf = callerAt(false)
  const { upload, uploadFile } = stepsOf(ctx)
  bindAll(app, ctx, {
    'POST /batches/:id/rows': ({ params, query, request, ...call }) =>
      upload(callerOf(call), params.id, query.from, request.body),
    'POST /batches/:id/files/:hash': ({ params, request, ...call }) =>
      uploadFile(callerOf(call), params, request.body),
  })
}

export function adminBatchUploadRoutes(app: FastifyInstance, ctx: Context): void {
  const callerOf = callerAt(true)
  const { upload, uploadFile } = stepsOf(ctx)
  bindAll(app, ctx, {
    'POST /admin/batches/:id/rows': ({ params, query, request, ...call }) =>
      upload(callerOf(call), params.id, query.from, request.body),
    'POST /admin/batches/:id/files/:hash': ({ params, request, ...call }) =>
      uploadFile(callerOf(call), params, request.body),
  })
}

const toWire = (batch: Batch) => ({
  ...pick(batch, 'id', 'name', 'kind', 'state', 'team', 'note', 'at', 'until'),
  startedBy: nameOf({ name: batch.startedBy }),
  approvedBy: batch.approvedBy === null ? null : nameOf({ name: batch.approvedBy }),
  ...pick(batch, 'host', 'context', 'undoes', 'total', 'uploaded'),
  ...pick(batch, 'changed', 'unchanged', 'failed', 'conflict'),
  ...pick(batch, 'error', 'lateSeconds', 'auditHead', 'createdAt', 'startedAt', 'endedAt'),
  settings: { ...settingsOf(batch) },
  done: batch.changed + batch.unchanged + batch.failed + batch.conflict,
  plan: totalsOf(batch),
})
