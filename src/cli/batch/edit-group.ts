import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes } from '../errors.ts'
import { counted, grouped } from '../io/text.ts'
import { uidOnWire } from '../uid.ts'
import { beginBatch } from './begin.ts'
import { chunksOf, describeResult, stoppedBy } from './edit-run.ts'
import { countResults } from './history.ts'
import type { RowResult } from './records.ts'

interface ListedChip {
  readonly uid: string
  readonly redirectUrl: string | null
}

/** The daemon takes twice as many at once. */
const chipsARequest = 50_000

/**
 * Gives all chips of a group one redirect URL, in requests of very many. What stood there before comes from the
 * list, so the batch can be taken back like any other.
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
  const { id, journal } = await beginBatch(
    ctx,
    { kind: 'chips edit', total, input },
    results.map(({ row, uid, previous = null }) => ({
      type: 'row' as const,
      row,
      uid,
      redirectUrl,
      previous,
    })),
  )
  const done: RowResult[] = []
  const tell = (told: readonly RowResult[]) => {
    for (const result of told) {
      journal.append({ type: 'result', ...result })
      done.push(result)
    }
    journal.sync()
  }
  const end = (how: 'done' | 'stopped') => {
    journal.append({ type: 'end', at: ctx.now().toISOString(), how, ...countResults(done) })
    journal.close()
  }
  try {
    for (const chunk of chunksOf(changed, chipsARequest)) {
      journal.append({ type: 'sent', rows: chunk.map(({ row }) => row) })
      journal.flush()
      const tagUIDs = chunk.map(({ uid }) => uidOnWire(uid))
      await ctx.call('PATCH /chips', { body: { tagUIDs, updates: { redirectUrl } } })
      tell(chunk)
    }
    tell(results.filter(({ status }) => status === 'unchanged'))
  } catch (error) {
    end('stopped')
    throw stoppedBy(error, id, done.length, total)
  }
  end('done')
  await print()
  const next = changed.length > 0 ? ` Take it back: tapchip batch undo ${id}` : ''
  io.note(`${grouped(changed.length)} changed, ${grouped(total - changed.length)} unchanged.${next}`)
  return exitCodes.done
}
