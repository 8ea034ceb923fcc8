import { resumeBadges } from '../../batch/badge-run.ts'
import { takeUpBatch } from '../../batch/begin.ts'
import { dryRun } from '../../batch/edit-check.ts'
import { runRows } from '../../batch/edit-run.ts'
import { countResults, type History, neverBegan, readHistory } from '../../batch/history.ts'
import { columns, needed, readImport } from '../../batch/import-input.ts'
import { runImport } from '../../batch/import-run.ts'
import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { inputFormats } from '../../batch/input/sheet.ts'
import { openSource } from '../../batch/input/source.ts'
import { assertSameDaemon } from '../../batch/instance.ts'
import { resumeMetadata } from '../../batch/metadata-run.ts'
import { rateFlag } from '../../batch/pace.ts'
import { resumeTransfers } from '../../batch/transfer-run.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { readerOption } from '../../nfc/readers.ts'
import { batchArgument } from './summary.ts'

const { format, map, ignoreColumns } = sheetFlags

export const resume = defineCommand({
  name: 'resume',
  summary: 'Go on with a batch that stopped: the rows without a result',
  examples: ['batch resume b_1hq3v9k7s2m4xa', 'batch resume b_1hq3v9k7s2m4xa --retry-failed --json'],
  args: batchArgument,
  options: {
    retryFailed: flag('--retry-failed', 'The rows that failed as well'),
    file: text('-f, --file <file>', 'Of input that came by standard input: the same again', 'file'),
    format,
    map,
    ignoreColumns,
    ...rateFlag,
    reader: readerOption,
    yes,
  },
  run: async (ctx, { args, options }) => {
    const history = await readHistory(ctx.at, args.id)
    const { header } = history
    if (history.status === 'running' && !options.yes) {
      throw new CliError(`Batch ${header.id} is still running, as process ${header.pid}.`, {
        advice: 'If that process is another program by now: --yes',
      })
    }
    await assertSameDaemon(ctx, header)
    if (header.kind === 'nfc provision') {
      ctx.needAdmin()
      const { resume: resumeBox } = await import('../nfc/provision.ts')
      return resumeBox(ctx, header.id, options)
    }
    if (header.kind === 'chips import') return resumeImport(ctx, history, options)
    if (header.kind.startsWith('badge-events')) return resumeBadges(ctx, history, options)
    return header.kind.startsWith('phygitals')
      ? resumeTokens(ctx, history, options)
      : resumeEdit(ctx, history, options)
  },
})

const resumeTokens = async (
  ctx: CliContext,
  history: History,
  options: { readonly retryFailed: boolean; readonly rate: number | undefined; readonly yes: boolean },
): Promise<ExitCode> => {
  ctx.needApiKey()
  const { header, transfers, metadata } = history
  if (transfers.length + metadata.length < header.total) throw neverBegan(header.id)
  const code =
    header.kind === 'phygitals transfer'
      ? await resumeTransfers(ctx, history, options)
      : await resumeMetadata(ctx, history, options)
  if (code !== undefined) return code
  ctx.io.note('Every row has its result. Nothing to do.')
  return exitCodes.done
}

const resumeEdit = async (
  ctx: CliContext,
  history: History,
  { retryFailed, rate }: { readonly retryFailed: boolean; readonly rate: number | undefined },
): Promise<ExitCode> => {
  ctx.needApiKey()
  const { header, results } = history
  const rows = history.rows.filter(({ row }) => {
    const result = results.get(row)
    return result === undefined || (retryFailed && result.status === 'failed')
  })
  if (history.rows.length < header.total) throw neverBegan(header.id)
  if (rows.length === 0) {
    ctx.io.note('Every row has its result. Nothing to do.')
    return exitCodes.done
  }
  if (ctx.flags.dryRun) return dryRun(ctx, rows)
  const again = new Set(rows.map(({ row }) => row))
  const before = countResults([...results.values()].filter(({ row }) => !again.has(row)))
  const journal = await takeUpBatch(ctx, header, rows.length)
  return (await runRows(ctx, { id: header.id, journal, rows, before, rate })).exitCode
}

/** An import is done again as a whole: chips that are there already stay as they are. */
const resumeImport = async (
  ctx: CliContext,
  { header }: History,
  options: {
    readonly file: string | undefined
    readonly format: Parameters<typeof sheetOptions>[0]['format']
    readonly map: readonly string[]
    readonly ignoreColumns: string | true | undefined
    readonly rate: number | undefined
  },
): Promise<ExitCode> => {
  ctx.needAdmin()
  const file = options.file ?? header.input.path
  if (file === null)
    throw new UsageError(
      '--file is missing: this import came by standard input.',
      'Give the same input again.',
    )
  const { settings = {} } = header
  const stored = {
    format: options.format ?? inputFormats.find((known) => known === settings.format),
    map:
      options.map.length > 0 ? options.map : (settings.map ?? '').split('\n').filter((pair) => pair !== ''),
    ignoreColumns: options.ignoreColumns ?? (settings.ignoreColumns === '*' ? true : settings.ignoreColumns),
  }
  const source = openSource(ctx.at, file)
  const sheet = await readImport(source, sheetOptions(stored, columns, needed), true)
  if (header.input.sha256 !== null && source.sha256() !== header.input.sha256) {
    throw new UsageError(
      `${source.name} is not what the batch began with.`,
      'For the new input, start a new batch: tapchip chips import',
    )
  }
  return runImport(ctx, {
    input: header.input,
    sheet,
    settings: {
      team: settings.team,
      chipGroup: settings.chipGroup ?? '',
      keySet: settings.keySet === undefined ? undefined : Number(settings.keySet),
      simulated: settings.simulated === 'true',
    },
    sheetSettings: {},
    dryRun: ctx.flags.dryRun,
    rate: options.rate,
    resumes: header.id,
  })
}
