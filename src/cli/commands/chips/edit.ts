import { dryRun, previewRows } from '../../batch/edit-check.ts'
import { startBatch } from '../../batch/edit-run.ts'
import { checkFailedFile, failedFlag, writeFailedRows } from '../../batch/failed-file.ts'
import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { Problems } from '../../batch/input/problems.ts'
import { readSheet, type SheetOptions } from '../../batch/input/sheet.ts'
import { openSource } from '../../batch/input/source.ts'
import { UidColumn } from '../../batch/input/uid-column.ts'
import { rateFlag } from '../../batch/pace.ts'
import type { EditRow, Header, RowResult } from '../../batch/records.ts'
import { checkRedirectUrl } from '../../batch/redirect-url.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { asWord } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { editByFlags } from './edit-by-flags.ts'

export const edit = defineCommand({
  name: 'edit',
  summary: 'Set or clear the redirect URL of chips',
  description:
    'Set or clear the redirect URL of chips: of one, or of a whole group, by flags; of many from a file with the columns uid and ' +
    'redirectUrl (empty: cleared). The whole file is checked before the first row is written.',
  examples: [
    'chips edit --uid 04:DE:5F:1E:AC:C0:40 --redirect-url https://example.com/',
    'chips edit --chip-group Jackets --redirect-url https://example.com/',
    'chips edit --file edits.csv --dry-run',
    'chips edit --file edits.csv --failed again.csv',
    'chips edit --file sheet.csv --map uid=TagID --map redirectUrl=Link --ignore-columns',
  ],
  excess: (given) => `For one chip: --uid ${asWord(given)}. For many: --chip-group or --file.`,
  options: {
    uid: text('--uid <uid>', 'One chip: its UID in decimal or hex'),
    chipGroup: text('--chip-group <name|id>', 'All chips of a group', 'chip-group'),
    redirectUrl: text('--redirect-url <url>', 'Where their taps go'),
    clear: flag('--clear', 'Their taps go nowhere special any more'),
    ...sheetFlags,
    ...rateFlag,
    ...failedFlag,
    yes,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const { uid, chipGroup, redirectUrl, clear } = options
    checkFailedFile(ctx, options.failed)
    if (options.file === undefined) return editByFlags(ctx, options)
    if ((uid ?? chipGroup ?? redirectUrl) !== undefined || clear) {
      throw new UsageError('--file says which chips and where: leave out the flags that say it as well.')
    }
    const settings = sheetOptions(options, ['uid', 'redirectUrl'], { required: ['uid', 'redirectUrl'] })
    const { input, rows } = await readEdits(ctx, options.file, settings, options.yes)
    if (rows.length === 0) {
      ctx.io.note(`${input.name} holds no rows. Nothing to do.`)
      return exitCodes.done
    }
    if (ctx.flags.dryRun) return dryRun(ctx, rows)
    const preview = await previewRows(ctx, rows)
    const { exitCode, results } = await startBatch(
      ctx,
      { kind: 'chips edit', input, rows, rate: options.rate },
      preview,
    )
    if (options.failed !== undefined) writeFailed(ctx, options.failed, rows, results)
    return exitCode
  },
})

const readEdits = async (ctx: CliContext, file: string, settings: SheetOptions, accepted: boolean) => {
  const source = openSource(ctx.at, file)
  const problems = new Problems()
  const uids = new UidColumn(problems)
  const rows: EditRow[] = []
  await readSheet(source, settings, problems, {
    row: (row, [uidText, urlText]) => {
      if (!uidText) problems.add(row, 'uid', 'is missing')
      // An empty cell clears; a JSON row that lacks the member may have meant something else.
      if (urlText === undefined) problems.add(row, 'redirectUrl', 'is missing; to clear it: null')
      const why = urlText ? checkRedirectUrl(urlText) : undefined
      if (why !== undefined) problems.add(row, 'redirectUrl', `"${urlText}" ${why}`)
      const uid = uidText ? uids.read(row, uidText) : undefined
      if (uid !== undefined) rows.push({ row, uid, redirectUrl: urlText || null })
    },
  })
  uids.finish(accepted)
  problems.refuse(source.name)
  const input: Header['input'] = { name: source.name, path: source.path ?? null, sha256: source.sha256() }
  return { input, rows }
}

const writeFailed = (
  ctx: CliContext,
  file: string,
  rows: readonly EditRow[],
  results: ReadonlyMap<number, RowResult>,
): void => {
  const failed = rows.filter(({ row }) => (results.get(row)?.status ?? 'failed') === 'failed')
  const cells = failed.map(({ uid, redirectUrl }) => [colons(uid), redirectUrl ?? ''])
  writeFailedRows(ctx, file, ['uid', 'redirectUrl'], cells)
}
