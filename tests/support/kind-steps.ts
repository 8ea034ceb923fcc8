import type {
  BatchDeps,
  BatchRun,
  NumberedRow,
  PlannedRow,
  RetryLater,
  RowResult,
  SentKind,
} from '../../src/daemon/domain/batches/kind.ts'
import type { Context } from '../../src/daemon/process/context.ts'
import { KeyedMutex } from '../../src/values/semaphore.ts'

// A kind of batch by itself, without the loop that runs it.

export const batchDeps = (ctx: Context): BatchDeps => ({
  ...ctx,
  minting: new KeyedMutex(),
  feeCap: (chainId) => ctx.config.chains.find((chain) => chain.chainId === chainId)?.maxFeePerGas,
})

/** @param kind a name of it */
export const runOf = (kind: string, more: Partial<BatchRun> = {}): BatchRun => ({
  id: 'b_1',
  kind,
  teamId: 1,
  actor: { name: 'ops', requestId: null, batch: 'b_1' },
  scopes: ['transfer', 'edit'],
  settings: {},
  pass: 1,
  ...more,
})

/** Reads lines, numbered from 1 where they have no number. */
export function readLines<R extends NumberedRow, T extends RowResult>(
  kind: Pick<SentKind<R, T>, 'names' | 'readRow'>,
  lines: readonly object[],
): R[] {
  const run = runOf(kind.names[0] ?? '')
  return lines.map((line, at) => {
    const read = kind.readRow({ row: at + 1, ...line }, run)
    if ('problem' in read) throw new Error(read.problem)
    return read.value
  })
}

export async function sendAll<R extends NumberedRow, T extends RowResult>(
  kind: SentKind<R, T>,
  deps: BatchDeps,
  run: BatchRun,
  rows: readonly PlannedRow<R, T>[],
): Promise<(T | RetryLater)[]> {
  return Promise.all(rows.map((row) => kind.send(deps, run, row, `${run.id}:${row.row.row}:${run.pass}`)))
}

/** With each row's plan. */
export const planned = <R extends NumberedRow, T extends RowResult>(
  rows: readonly R[],
  plan: readonly (T | undefined)[] = [],
): PlannedRow<R, T>[] => rows.map((row, at) => ({ row, planned: plan[at] }))

export async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}
