import { ApiError } from '../../client/errors.ts'
import type { Client } from '../../client/types.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes, UsageError, withAfterword } from '../../errors.ts'
import { clean, counted, formatNumber, shellQuoted } from '../../io/text.ts'
import { bothForms, colons, readUid } from '../../uid.ts'
import type { FailedFile } from '../failed-file.ts'
import { fromSettings, sheetOptions } from '../input/flags.ts'
import { openSource } from '../input/source.ts'
import { auditHeadNow } from '../instance.ts'
import { type Header, isNumber, isStatus, isText, orAbsent, type Result, shape } from '../journal.ts'
import type { WholeKind } from '../kind.ts'
import { beginJournal, type Resuming, reopenJournal, rowsLeft } from '../open-journal.ts'
import { openRun } from '../run.ts'
import { type ImportInput, importSheet, readImport, slicesOf } from './import-sheet.ts'

export interface ImportSettings {
  readonly team: string | undefined
  readonly chipGroup: string
  readonly keySet: number | undefined
  readonly simulated: boolean
}

/** As text, for the journal. */
const asText = ({ team, chipGroup, keySet, simulated }: ImportSettings) => ({
  chipGroup,
  team,
  keySet: keySet?.toString(),
  simulated: simulated ? 'true' : undefined,
})

interface ImportResult extends Result {
  readonly uid: string
}

/**
 * Resuming an import repeats it: chips that exist are left unchanged. Its journal keeps the failures, and with --json
 * every row.
 */
export const chipImport: WholeKind<ImportResult> = {
  name: 'chips import',
  isResult: shape<ImportResult>({ row: isNumber, uid: isText, status: isStatus, error: orAbsent(isText) }),
  resume: async (ctx, { header, copy, isOwn }, options) => {
    ctx.needAdmin()
    const file = options.file ?? header.input.path
    if (file === null)
      throw new UsageError(
        '--file is missing: this import was read from standard input.',
        'Give the same input again.',
      )
    const { settings = {} } = header
    const source = openSource(ctx.system, file)
    const sheet = await readImport(source, sheetOptions(fromSettings(settings, options), importSheet), true)
    if (header.input.sha256 !== null && source.sha256() !== header.input.sha256) {
      throw new UsageError(
        `${source.name} is not the file that the batch started with.`,
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
      rate: options.rate,
      resumes: { header, copy, isOwn, takeOver: options.takeOver },
    })
  },
  report: async (ctx, { results }, failedAlone) => {
    for (const { row, uid, status, error } of results.values()) {
      if (failedAlone && status !== 'failed') continue
      await ctx.io.line(
        { row, uid, status, error },
        () =>
          `row ${row}  ${bothForms(uid)}  ${status}${status === 'failed' ? `  ${clean(error ?? '')}` : ''}`,
      )
    }
  },
  undo: {
    refusal: 'An import cannot be undone.',
    advice: () => 'Remove its chips one by one: tapchip chips remove UID',
  },
}

export const runImport = async (
  ctx: CliContext,
  {
    input,
    sheet,
    settings,
    sheetSettings,
    resumes,
    rate,
    failedFile,
  }: {
    readonly input: Header['input']
    readonly sheet: ImportInput
    readonly settings: ImportSettings
    readonly sheetSettings: Header['settings']
    readonly resumes?: Resuming
    readonly rate: number | undefined
    readonly failedFile?: FailedFile | undefined
  },
): Promise<ExitCode> => {
  const { io } = ctx
  const { dryRun } = ctx.flags
  const client = await ctx.client()
  if (!dryRun && !resumes) await checkSettings(ctx, client, settings, sheet)
  const total = sheet.rows
  const about = { kind: chipImport.name, total, input, settings: { ...asText(settings), ...sheetSettings } }
  const { id, journal } = dryRun
    ? { id: undefined, journal: undefined }
    : resumes
      ? { id: resumes.header.id, journal: await reopenJournal(ctx, resumes, rowsLeft(total, total)) }
      : await beginJournal(ctx, about)
  const stopping = 'Stopping. Press Ctrl-C again to stop now.'
  const run = openRun(ctx, { id, journal, label: 'Importing', total, rate, stopping })
  const failures = new Map<number, { readonly row: number; readonly uid: string; readonly error: string }>()
  const counts = { created: 0, unchanged: 0, failed: 0 }
  let isComplete = false

  async function* content() {
    const size = sheet.blocks.reduce((sum, block) => sum + block.length, 0)
    let sent = 0
    let told = 0
    for (const { bytes, rows } of slicesOf(sheet.blocks, run.pace.size(Number.POSITIVE_INFINITY))) {
      await run.pace.turn(rows)
      yield bytes
      sent += bytes.length
      const done = Math.floor((total * sent) / size)
      run.progress.advance(done - told)
      told = done
    }
  }
  try {
    const answers = client.stream('POST /admin/chips/import', {
      query: queryOf(settings, io.json ? 'all' : 'failures', dryRun),
      upload: { contentType: 'text/csv', content: content() },
      signal: run.stop.signal,
    })
    for await (const answer of answers) {
      if (!('row' in answer)) {
        Object.assign(counts, answer)
        isComplete = true
        continue
      }
      const { row, uid, status, error } = answer
      if (status === 'failed') failures.set(row, { row, uid, error: error ?? '' })
      const result = { row, uid, status, error }
      journal?.append({ type: 'result', ...result })
      if (io.json) counts[status] += 1
      await run.show(result, () => clean(`row ${row}  ${uid}  failed  ${error ?? ''}`))
    }
    isComplete ||= counts.created + counts.unchanged + counts.failed === total
  } catch (error) {
    // If the sheet itself was refused, there is nothing to resume.
    const mayGoOn = !(error instanceof ApiError) || error.statusCode >= 500
    throw journal && mayGoOn ? withAfterword(error, `Continue: tapchip batch resume ${id}`) : error
  } finally {
    const { created: changed, unchanged, failed } = counts
    const auditHead = isComplete && journal ? await auditHeadNow(ctx) : undefined
    await run.end(isComplete ? 'done' : 'stopped', { changed, unchanged, failed }, auditHead)
  }
  const { created, unchanged, failed } = counts
  if (!isComplete) {
    io.note(id === undefined ? 'Stopped.' : `Stopped. Continue: tapchip batch resume ${id}`)
    return exitCodes.interrupted
  }
  const exitCode = failed > 0 ? exitCodes.partial : exitCodes.done
  if (dryRun) {
    io.note(
      `Dry run: ${counted(created, 'chip')} would be created, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} would fail. Nothing was written.`,
    )
    return exitCode
  }
  io.note(
    `${counted(created, 'chip')} created, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} failed.`,
  )
  if (failed === total) await reportEmptyGroup(ctx, settings)
  const cells = (row: number) => {
    const { uid } = failures.get(row) ?? {}
    return uid ? [colons(readUid(uid))] : []
  }
  failedFile?.write([...failures.values()], { heading: ['uid'], cells })
  if (failed < total) io.hint(`See them: tapchip chips list --chip-group ${shellQuoted(settings.chipGroup)}`)
  return exitCode
}

const queryOf = (settings: ImportSettings, report: 'all' | 'failures', dryRun: boolean) => ({
  ...settings,
  report,
  dryRun,
  simulated: settings.simulated || undefined,
})

/** Sends the heading alone as a dry run, so that problems with the settings are reported before there is a batch. */
const checkSettings = async (
  ctx: CliContext,
  client: Client,
  settings: ImportSettings,
  { blocks }: ImportInput,
): Promise<void> => {
  await ctx.beforeWrite()
  const [first = Buffer.alloc(0)] = blocks
  const upload = { contentType: 'text/csv', content: [first.subarray(0, first.indexOf('\n') + 1)] }
  const query = queryOf(settings, 'failures', true)
  const answers = client.stream('POST /admin/chips/import', { query, upload })
  for await (const _ of answers);
}

/** The group is created before the first row, and stays if every row fails: tell the user where it came from. */
const reportEmptyGroup = async (ctx: CliContext, { chipGroup, team }: ImportSettings): Promise<void> => {
  // This is only a courtesy, so errors are ignored.
  const groups = await ctx.call('GET /admin/chip-groups', { query: { team } }).catch(() => [])
  if (groups.find(({ name }) => name === chipGroup)?.chips !== 0) return
  ctx.io.note(
    `The chip group "${clean(chipGroup)}" was created, and is empty. Remove it: tapchip chip-groups remove ${shellQuoted(chipGroup)}`,
  )
}
