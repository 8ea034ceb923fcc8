import { failedFlag } from '../../batch/failed-file.ts'
import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { addMetadataProblems, checkMetadata, showMetadata } from '../../batch/metadata-check.ts'
import { metadataColumns, readMetadataSheet } from '../../batch/metadata-input.ts'
import { startMetadata } from '../../batch/metadata-run.ts'
import { rateFlag } from '../../batch/pace.ts'
import { readTemplate } from '../../batch/template.ts'
import { text, type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes } from '../../errors.ts'

/** What metadata for many takes. */
export const metadataFileFlags = {
  ...sheetFlags,
  template: text(
    '--template <file>',
    "One JSON for all, whose {{column}} fields are filled from the sheet's columns",
    'file',
  ),
  ...rateFlag,
  ...failedFlag,
  yes,
}

/** Replaces the metadata of a sheet's tokens: all of it is checked before the first is written. */
export const metadataByFile = async (
  ctx: CliContext,
  file: string,
  flags: Values<typeof metadataFileFlags>,
): Promise<ExitCode> => {
  ctx.needApiKey()
  const template = flags.template === undefined ? undefined : readTemplate(ctx.at, flags.template)
  const { columns, needed } = metadataColumns(template)
  const options = sheetOptions(flags, columns, needed)
  const sheet = await readMetadataSheet(ctx, file, { options, template, accepted: flags.yes })
  const { input, rows, problems } = sheet
  problems.refuse(input.name)
  if (rows.length === 0) {
    ctx.io.note(`${input.name} holds no rows. Nothing to do.`)
    return exitCodes.done
  }
  const check = await checkMetadata(ctx, rows)
  addMetadataProblems(check, problems)
  problems.refuse(input.name)
  if (ctx.flags.dryRun) return showMetadata(ctx, rows, check)
  const { rate, failed: failedFile } = flags
  return startMetadata(ctx, { kind: 'phygitals metadata', input, rows, check, rate, failedFile })
}
