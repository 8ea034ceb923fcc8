import type {
  BatchDeps,
  BatchRun,
  NumberedRow,
  RowResult,
  Settings,
  WrittenKind,
} from '../../src/daemon/domain/batches/kind.ts'
import type { Context } from '../../src/daemon/process/context.ts'
import { KeyedMutex } from '../../src/values/semaphore.ts'

/** Runs a kind's rows without the engine of batches: reads them, plans them, and writes them in one transaction. */
export function kindRunner(ctx: Context, teamId: number) {
  const deps: BatchDeps = { ...ctx, minting: new KeyedMutex(), feeCap: () => undefined }
  let batches = 0
  const open = <R extends NumberedRow, T extends RowResult>(
    kind: WrittenKind<R, T>,
    lines: readonly object[],
    { name = kind.names[0] ?? '', settings = {}, ...of }: Partial<BatchRun> & { name?: string } = {},
  ) => {
    const id = `b_${String(++batches).padStart(14, '0')}`
    const actor = { name: 'key:ops', requestId: null, batch: id }
    const run: BatchRun = { id, kind: name, teamId, actor, scopes: ['all'], settings, pass: 1, ...of }
    const rows = lines.map((line, n) => {
      const read = kind.readRow({ row: n + 1, ...line }, run)
      if ('problem' in read) throw new Error(read.problem)
      return read.value
    })
    let planned: readonly T[] | undefined
    return {
      run,
      rows,
      plan: async () => {
        planned = await kind.plan(deps, run, rows, new Map())
        return planned
      },
      /** By the plan, if there is one. */
      write: () =>
        ctx.db.write((trx) =>
          kind.write(
            trx,
            deps,
            run,
            rows.map((row, n) => ({ row, planned: planned?.[n] })),
          ),
        ),
    }
  }
  /** The lines of the batch that takes one back, and how it runs. */
  const undoOf = <R extends NumberedRow, T extends RowResult>(
    kind: WrittenKind<R, T>,
    { run, rows }: { run: BatchRun; rows: readonly R[] },
    results: readonly T[],
  ): { lines: object[]; kind: string; settings: Settings } => {
    const { undo } = kind
    if ('refusal' in undo) throw new Error(undo.refusal)
    const lines = rows.flatMap((row, n) => {
      const result = results[n]
      return (result && undo.row(row, result)) ?? []
    })
    // As the lines come back from the store.
    return {
      lines: JSON.parse(JSON.stringify(lines)),
      kind: undo.kind,
      settings: undo.settings?.(run) ?? {},
    }
  }
  return { deps, open, undoOf }
}

/** Why a line is refused; undefined: it is read. */
export function problemOf(
  kind: Pick<WrittenKind, 'readRow'>,
  line: unknown,
  { name = '', settings = {} }: { name?: string; settings?: Settings } = {},
): string | undefined {
  const read = kind.readRow(line, { kind: name, settings })
  return 'problem' in read ? read.problem : undefined
}
