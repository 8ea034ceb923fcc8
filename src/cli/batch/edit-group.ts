import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import { counted, grouped } from '../io/text.ts'
import { uidOnWire } from '../uid.ts'
import { beginBatch } from './begin.ts'
import { describeResult } from './edit-run.ts'
import type { RowResult } from './records.ts'

interface ListedChip {
  readonly uid: string
  readonly redirectUrl: string | null
}

/**
 * Gives all chips of a group one redirect URL, in one request: all of them or none. What stood there before
 * comes from the list, so the batch can be taken back like any other.
 */
export const editGroup = async (
  ctx: CliContext,
  {
    name,
    chips,
    redirectUrl,
    dryRun,
  }: {
    readonly name: string
    readonly chips: readonly ListedChip[]
    readonly redirectUrl: string | null
    readonly dryRun: boolean
  },
): Promise<ExitCode> => {
  const { io } = ctx
  const results = chips.map(({ uid, redirectUrl: previous }, i): RowResult => {
    const status = previous === redirectUrl ? 'unchanged' : 'changed'
    return { row: i + 1, uid, status, previous }
  })
  const changed = results.filter(({ status }) => status === 'changed')
  const print = async () => {
    for (const result of io.json || dryRun ? results : []) {
      await io.line(dryRun ? { ...result, redirectUrl } : result, () => describeResult(result, redirectUrl))
    }
  }
  if (dryRun) {
    await print()
    io.note(
      `Dry run: ${counted(changed.length, 'chip')} of ${grouped(results.length)} would change. Nothing was written.`,
    )
    return exitCodes.done
  }
  const input = { name: `chip group ${name}`, path: null, sha256: null }
  const total = results.length
  const { id, journal } = await beginBatch(ctx, { kind: 'chips edit', total, input }, [
    ...results.map(({ row, uid, previous = null }) => ({
      type: 'row' as const,
      row,
      uid,
      redirectUrl,
      previous,
    })),
    { type: 'sent', rows: changed.map(({ row }) => row) },
  ])
  const end = (how: 'done' | 'stopped', done: readonly RowResult[]) => {
    for (const result of done) journal.append({ type: 'result', ...result })
    const count = done.length === 0 ? 0 : changed.length
    journal.append({
      type: 'end',
      at: ctx.now().toISOString(),
      how,
      changed: count,
      unchanged: done.length - count,
      failed: 0,
    })
    journal.close()
  }
  try {
    const tagUIDs = changed.map(({ uid }) => uidOnWire(uid))
    if (tagUIDs.length > 0) await ctx.call('PATCH /chips', { body: { tagUIDs, updates: { redirectUrl } } })
  } catch (error) {
    end('stopped', [])
    throw error
  }
  end('done', results)
  await print()
  const next = changed.length > 0 ? ` Take it back: tapchip batch undo ${id}` : ''
  io.note(`${grouped(changed.length)} changed, ${grouped(total - changed.length)} unchanged.${next}`)
  return exitCodes.done
}
