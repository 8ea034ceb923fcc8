import { countsOf } from '../../batch/follow.ts'
import type { Batch, KindMessages } from '../../batch/sheet-kind.ts'
import type { CliContext } from '../../context.ts'

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
