import { shownUrl } from '../before-write.ts'
import { addressOf } from '../client/address.ts'
import type { AnswerOf, CallArguments, Client, EndpointKey } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { clean, counted } from '../io/text.ts'
import type { Batch, BatchFile } from './sheet-kind.ts'

type Creation = NonNullable<NonNullable<CallArguments<'POST /admin/batches'>[0]>['body']>
type PlanLine = AnswerOf<'POST /batches/:id/plan'>
type FollowLine = AnswerOf<'GET /batches/:id/follow'>
type ReportLine = AnswerOf<'GET /batches/:id/report'>

/** Batches of the daemon: with an admin token those of all teams, with an API key those of its team. */
export class BatchApi {
  readonly #ctx: Pick<CliContext, 'call'>
  readonly #client: Client
  readonly isAdmin: boolean

  constructor(ctx: Pick<CliContext, 'call'>, client: Client, isAdmin: boolean) {
    this.#ctx = ctx
    this.#client = client
    this.isAdmin = isAdmin
  }

  /** @throws MissingCredential */
  static async of(ctx: CliContext, isAdmin: boolean): Promise<BatchApi> {
    if (isAdmin) ctx.needAdmin()
    else ctx.needApiKey()
    return new BatchApi(ctx, await ctx.client(), isAdmin)
  }

  get client(): Client {
    return this.#client
  }

  list(query: { readonly limit?: number }): Promise<readonly Batch[]> {
    return this.#client.call(this.isAdmin ? 'GET /admin/batches' : 'GET /batches', { query })
  }

  create(body: Creation): Promise<{ readonly isNew: boolean; readonly batch: Batch }> {
    return this.#client.call(this.isAdmin ? 'POST /admin/batches' : 'POST /batches', { body })
  }

  show(id: string): Promise<Batch> {
    return this.#client.call(this.isAdmin ? 'GET /admin/batches/:id' : 'GET /batches/:id', { params: { id } })
  }

  async upload(id: string, from: number, content: Iterable<Buffer>): Promise<number> {
    const key = this.isAdmin ? 'POST /admin/batches/:id/rows' : 'POST /batches/:id/rows'
    const upload = { contentType: 'application/x-ndjson', content }
    return (await this.#client.call(key, { params: { id }, query: { from }, upload })).uploaded
  }

  /** A row that the batch already has is left unchanged. */
  async uploadFile(id: string, { hash, type, read }: BatchFile): Promise<void> {
    const key = this.isAdmin ? 'POST /admin/batches/:id/files/:hash' : 'POST /batches/:id/files/:hash'
    await this.#client.call(key, { params: { id, hash }, upload: { contentType: type, content: [read()] } })
  }

  plan(id: string, report: 'all' | 'exceptions' | 'none', signal: AbortSignal): AsyncGenerator<PlanLine> {
    const key = this.isAdmin ? 'POST /admin/batches/:id/plan' : 'POST /batches/:id/plan'
    return this.#client.stream(key, { params: { id }, query: { report }, signal })
  }

  start(id: string): Promise<Batch> {
    return this.#client.call(this.isAdmin ? 'POST /admin/batches/:id/start' : 'POST /batches/:id/start', {
      params: { id },
    })
  }

  // A dry run only asks whether the daemon would take these steps. The others are made: its plan needs them.

  approve(id: string): Promise<Batch> {
    const key = this.isAdmin ? 'POST /admin/batches/:id/approve' : 'POST /batches/:id/approve'
    return this.#ctx.call(key, { params: { id } })
  }

  pause(id: string): Promise<Batch> {
    return this.#ctx.call(this.isAdmin ? 'POST /admin/batches/:id/pause' : 'POST /batches/:id/pause', {
      params: { id },
    })
  }

  resume(id: string, body: { retryFailed?: boolean; rate?: number | undefined }): Promise<Batch> {
    return this.#ctx.call(this.isAdmin ? 'POST /admin/batches/:id/resume' : 'POST /batches/:id/resume', {
      params: { id },
      body,
    })
  }

  cancel(id: string): Promise<Batch> {
    return this.#ctx.call(this.isAdmin ? 'POST /admin/batches/:id/cancel' : 'POST /batches/:id/cancel', {
      params: { id },
    })
  }

  undo(id: string, body: { host?: string; context?: string }): Promise<Batch> {
    return this.#client.call(this.isAdmin ? 'POST /admin/batches/:id/undo' : 'POST /batches/:id/undo', {
      params: { id },
      body,
    })
  }

  async remove(id: string): Promise<void> {
    await this.#client.call(this.isAdmin ? 'DELETE /admin/batches/:id' : 'DELETE /batches/:id', {
      params: { id },
    })
  }

  follow(id: string, after: number, signal: AbortSignal): AsyncGenerator<FollowLine> {
    const key = this.isAdmin ? 'GET /admin/batches/:id/follow' : 'GET /batches/:id/follow'
    return this.#client.stream(key, { params: { id }, query: { after }, signal })
  }

  report(id: string, failed: boolean): AsyncGenerator<ReportLine> {
    const key = this.isAdmin ? 'GET /admin/batches/:id/report' : 'GET /batches/:id/report'
    return this.#client.stream(key, { params: { id }, query: { failed } })
  }
}

/** "Would send 4 rows by POST http://127.0.0.1:8484/chips/batch." Parameters of the path stay as their names. */
export const noteRequests = (ctx: CliContext, endpoint: EndpointKey, rows: number): void => {
  if (rows === 0) return
  const params = Object.fromEntries(
    [...endpoint.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => [name, name.toUpperCase()]),
  )
  const { method, path } = addressOf(endpoint, { params }, ctx.config().wireBadge)
  ctx.io.note(clean(`Would send ${counted(rows, 'row')} by ${method} ${shownUrl(ctx.config(), path)}.`))
}
