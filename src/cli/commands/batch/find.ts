import { isBatchName } from '../../../values/batch.ts'
import { BatchApi } from '../../batch/batch-api.ts'
import { notForBox } from '../../batch/boxes.ts'
import { countsOf } from '../../batch/follow.ts'
import { ofEarlierVersion, oldJournal } from '../../batch/old-journals.ts'
import type { Batch, KindMessages } from '../../batch/sheet-kind.ts'
import { messagesOf } from '../../batch/sheet-kinds.ts'
import { ApiError } from '../../client/errors.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { readBox } from '../../nfc/saved-box.ts'

export const batchArgument = { id: argument('id', 'Its id or its name', 'batch') }

export interface FoundBatch {
  /** With the credential that its kind takes. */
  readonly api: BatchApi
  readonly batch: Batch
  readonly messages: KindMessages
}

/** A batch of the daemon by its id or name. @throws UsageError if there is none */
export const findBatch = async (ctx: CliContext, idOrName: string): Promise<FoundBatch> => {
  if (readBox(ctx.system, idOrName)) throw notForBox(idOrName)
  const old = oldJournal(ctx.system, idOrName)
  if (old) throw ofEarlierVersion(old)
  const hasToken = ctx.config().adminToken() !== undefined
  const { apiKey } = ctx.config()
  if (!hasToken) ctx.needApiKey()
  const client = await ctx.client()
  const [asKey, asAdmin] = [new BatchApi(ctx, client, false), new BatchApi(ctx, client, true)]
  const isId = isBatchName(idOrName)
  // What an API key may do is done with it: the batch is its team's, and the daemon distinguishes who proposed from who approves.
  const ofTeam = isId && apiKey ? await showIfAny(asKey, idOrName) : undefined
  const batch = ofTeam ?? (isId && hasToken ? await showIfAny(asAdmin, idOrName) : undefined)
  if (batch === undefined)
    throw new UsageError(`There is no batch "${idOrName}".`, 'List them: tapchip batch list --all')
  const messages = messagesOf(batch.kind)
  // Some kinds are under /admin, which a daemon may keep from the public address.
  const isForAdmin =
    ofTeam === undefined ||
    (messages.isAdmin === true && (hasToken || (await showIfAny(asAdmin, idOrName)) !== undefined))
  return { api: isForAdmin ? asAdmin : asKey, batch, messages }
}

const showIfAny = async (api: BatchApi, idOrName: string): Promise<Batch | undefined> => {
  try {
    return await api.show(idOrName)
  } catch (error) {
    if (error instanceof ApiError && (error.statusCode === 404 || error.statusCode === 403)) return undefined
    throw error
  }
}

/** A batch for `batch status` and `batch list`. */
export const shownBatch = (batch: Batch) => {
  const { id, name, kind, state, team, startedBy, approvedBy, note, at, until, host, context, undoes } = batch
  const { total, done, changed, unchanged, failed, conflict, error, lateSeconds, auditHead } = batch
  const { createdAt, startedAt, endedAt } = batch
  return {
    ...{ id, name, kind, state, team, startedBy, approvedBy, note, at, until, host, context, undoes },
    ...{ total, done, changed, unchanged, failed, conflict, error, lateSeconds, auditHead },
    ...{ createdAt, startedAt, endedAt },
  }
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null }
export type ShownBatch = Nullable<ReturnType<typeof shownBatch>>

export const printShown = (ctx: CliContext, batch: ShownBatch): Promise<void> =>
  ctx.io.one(batch, (one) => ({
    Id: one.id,
    Name: one.name ?? undefined,
    Kind: one.kind,
    State: one.state,
    Why: one.error ?? undefined,
    Note: one.note ?? undefined,
    Team: one.team ?? undefined,
    'Started by': one.startedBy ?? undefined,
    'Approved by': one.approvedBy ?? undefined,
    'Starts at': one.at ?? undefined,
    'Started late': one.lateSeconds === null ? undefined : `${one.lateSeconds} s after its time`,
    'Undone at': one.until ?? undefined,
    Created: one.createdAt,
    Started: one.startedAt ?? undefined,
    Ended: one.endedAt ?? undefined,
    Host: one.host ?? undefined,
    Context: one.context ?? undefined,
    Rows: one.total,
    Done: one.done,
    Changed: one.changed,
    Unchanged: one.unchanged,
    Failed: one.failed,
    'In conflict': one.conflict,
    Undoes: one.undoes ?? undefined,
  }))

/** After a step: the batch, and where it stands. */
export const printStep = async (ctx: CliContext, batch: Batch, messages: KindMessages): Promise<void> => {
  await ctx.io.one(shownBatch(batch), () => ({
    [`Batch ${batch.id}`]: batch.state,
    Rows: countsOf(batch, messages),
  }))
}
