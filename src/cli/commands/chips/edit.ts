import { writeFileSync } from 'node:fs'
import { describeResult, dryRun, previewRows, startBatch } from '../../batch/edit-run.ts'
import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { Problems } from '../../batch/input/problems.ts'
import { readSheet, type SheetOptions } from '../../batch/input/sheet.ts'
import { openSource } from '../../batch/input/source.ts'
import { UidColumn } from '../../batch/input/uid-column.ts'
import type { EditRow, Header, RowResult } from '../../batch/records.ts'
import { checkRedirectUrl } from '../../batch/redirect-url.ts'
import { sheetLine } from '../../batch/spreadsheet.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { colons, readUid } from '../../uid.ts'

export const edit = defineCommand({
  name: 'edit',
  summary: 'Set or clear the redirect URL of chips',
  description:
    'Set or clear the redirect URL of chips: of one by flags, of many from a file with the columns uid and ' +
    'redirectUrl (empty: cleared). The whole file is checked before the first row is written.',
  examples: [
    'chips edit --uid 04:DE:5F:1E:AC:C0:40 --redirect-url https://example.com/',
    'chips edit --file edits.csv --dry-run',
    'chips edit --file edits.csv --failed again.csv',
    'chips edit --file sheet.csv --map uid=TagID --map redirectUrl=Link --ignore-columns',
  ],
  options: {
    uid: text('--uid <uid>', 'One chip: its UID in decimal or hex'),
    redirectUrl: text('--redirect-url <url>', 'Where its taps go'),
    clear: flag('--clear', 'Its taps go nowhere special any more'),
    ...sheetFlags,
    failed: text('--failed <file>', 'Write the rows that failed to a CSV that can be fed back', 'file'),
    yes,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    if (options.file === undefined) return editOne(ctx, options)
    if (options.uid !== undefined || options.redirectUrl !== undefined || options.clear) {
      throw new UsageError(
        '--file takes its chips from the file: leave out --uid, --redirect-url and --clear.',
      )
    }
    const settings = sheetOptions(options, ['uid', 'redirectUrl'], ['uid', 'redirectUrl'])
    const { input, rows } = await readEdits(ctx, options.file, settings, options.yes)
    if (rows.length === 0) {
      ctx.io.note(`${input.name} holds no rows. Nothing to do.`)
      return exitCodes.done
    }
    if (options.dryRun) return dryRun(ctx, rows)
    const preview = await previewRows(ctx, rows)
    const { exitCode, results } = await startBatch(ctx, { kind: 'chips edit', input, rows }, preview)
    if (options.failed !== undefined) writeFailed(ctx, options.failed, rows, results)
    return exitCode
  },
})

const readEdits = async (ctx: CliContext, file: string, settings: SheetOptions, accepted: boolean) => {
  const source = openSource(ctx.at, file)
  const problems = new Problems()
  const uids = new UidColumn(problems)
  const rows: EditRow[] = []
  await readSheet(source, settings, problems, (row, [uidText, urlText]) => {
    if (!uidText) problems.add(row, 'uid', 'is missing')
    // An empty cell clears; a JSON row that lacks the member may have meant something else.
    if (urlText === undefined) problems.add(row, 'redirectUrl', 'is missing; to clear it: null')
    const why = urlText ? checkRedirectUrl(urlText) : undefined
    if (why !== undefined) problems.add(row, 'redirectUrl', `"${urlText}" ${why}`)
    const uid = uidText ? uids.read(row, uidText) : undefined
    if (uid !== undefined) rows.push({ row, uid, redirectUrl: urlText || null })
  })
  uids.finish(accepted)
  problems.refuse(source.name)
  const input: Header['input'] = { name: source.name, path: source.path ?? null, sha256: source.sha256() }
  return { input, rows }
}

const editOne = async (
  ctx: CliContext,
  options: {
    readonly uid: string | undefined
    readonly redirectUrl: string | undefined
    readonly clear: boolean
    readonly dryRun: boolean
  },
) => {
  if (options.uid === undefined && !ctx.prompts.possible) throw new UsageError('--file or --uid is missing.')
  if (options.clear && options.redirectUrl !== undefined)
    throw new UsageError('--redirect-url or --clear: not both.')
  const uid = readUid(
    await ctx.prompts.text(options.uid, { flag: '--uid', message: 'UID of the chip' }),
    '--uid',
  )
  const given = options.clear
    ? ''
    : await ctx.prompts.text(options.redirectUrl, {
        flag: '--redirect-url or --clear',
        message: 'Redirect URL',
      })
  const why = given === '' ? undefined : checkRedirectUrl(given)
  if (why !== undefined) throw new UsageError(`--redirect-url "${given}" ${why}. Nothing was written.`)
  const rows: EditRow[] = [{ row: 1, uid, redirectUrl: given || null }]
  if (options.dryRun) return dryRun(ctx, rows)
  const input = { name: 'flags', path: null, sha256: null }
  const { exitCode, results } = await startBatch(ctx, { kind: 'chips edit', input, rows }, new Map())
  const result = results.get(1)
  if (result && result.status !== 'failed' && !ctx.io.json) {
    await ctx.io.line(result, () => describeResult(result, given || null).replace(/^row 1 {2}/, ''))
  }
  // One chip is no part of anything.
  return exitCode === exitCodes.partial ? exitCodes.failed : exitCode
}

const writeFailed = (
  ctx: CliContext,
  file: string,
  rows: readonly EditRow[],
  results: ReadonlyMap<number, RowResult>,
): void => {
  const failed = rows.filter(({ row }) => (results.get(row)?.status ?? 'failed') === 'failed')
  if (failed.length === 0) return
  const lines = failed.map(({ uid, redirectUrl }) => sheetLine([colons(uid), redirectUrl ?? '']))
  writeFileSync(
    file.startsWith('/') ? file : `${ctx.at.cwd}/${file}`,
    sheetLine(['uid', 'redirectUrl']) + lines.join(''),
  )
  ctx.io.note(`The rows that failed: ${file}`)
}
