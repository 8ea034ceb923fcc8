import { type BatchSummary, describeDamage, isDamaged } from '../../batch/history.ts'
import { journalPath } from '../../batch/journal.ts'
import type { History } from '../../batch/kind.ts'
import { argument, flag } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes } from '../../errors.ts'

export const batchArgument = { id: argument('id', 'The id of the batch', 'batch') }

export const skipDamaged = flag('--skip-damaged', 'Continue without journal lines that cannot be read')

/** The exit code of a command that skipped damaged lines, so that nobody takes its result for complete. */
export const afterDamage = (ctx: CliContext, { header, damage }: History): ExitCode => {
  if (!isDamaged(damage)) return exitCodes.done
  ctx.io.warn(
    `${describeDamage(header.id, journalPath(ctx.system, header.id), damage)}. The rows of those lines were left out.`,
  )
  return exitCodes.partial
}

export const summaryOf = ({ header, status, endedAt, counts }: BatchSummary) => ({
  id: header.id,
  kind: header.kind,
  status,
  startedAt: header.startedAt,
  endedAt: endedAt ?? null,
  total: header.total,
  changed: counts.changed,
  unchanged: counts.unchanged,
  failed: counts.failed,
  input: header.input.path ?? header.input.name,
  url: header.url,
  undoes: header.undoes ?? null,
})
