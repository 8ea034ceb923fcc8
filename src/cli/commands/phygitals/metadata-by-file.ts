import { failedFlag } from '../../batch/failed-file.ts'
import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { addMetadataProblems, checkMetadata, showMetadata, tokenFinder } from '../../batch/metadata-check.ts'
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
  const { input, problems, withTokens } = sheet
  if (sheet.rows.length === 0) {
    problems.refuse(input.name)
    ctx.io.note(`${input.name} holds no rows. Nothing to do.`)
    return exitCodes.done
  }
  const { rows, check } = await problems.withAnswers(input.name, async () => {
    const found = await checkMetadata(ctx, sheet.rows)
    addMetadataProblems(found, problems)
    if (withTokens === undefined) return { rows: sheet.rows, check: found }
    const filled = withTokens(tokenFinder(found))
    problems.refuse(input.name)
    const check = await checkMetadata(ctx, filled)
    addMetadataProblems(check, problems)
    return { rows: filled, check }
  })
  if (ctx.flags.dryRun) return showMetadata(ctx, rows, check)
  const { rate, failed: failedFile } = flags
  return startMetadata(ctx, { kind: 'phygitals metadata', input, rows, check, rate, failedFile })
}
