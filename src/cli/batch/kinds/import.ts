import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { ApiError } from '../../client/errors.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes, UsageError, withAfterword } from '../../errors.ts'
import { clean, counted, formatNumber, shellQuoted } from '../../io/text.ts'
import { bothForms, colons, readUid } from '../../uid.ts'
import { CutShort } from '../answers.ts'
import { noteRequests } from '../dry-run.ts'
import type { FailedFile } from '../failed-file.ts'
import { fromSettings, sheetOptions } from '../input/flags.ts'
import { openSource } from '../input/source.ts'
import { auditHeadNow, instanceNow } from '../instance.ts'
import { type Header, isNumber, isStatus, isText, orAbsent, shape } from '../journal.ts'
import type { WholeKind } from '../kind.ts'
import { beginJournal, type Resuming, reopenJournal, rowsLeft } from '../open-journal.ts'
import { openRun } from '../open-run.ts'
import { Patience } from '../patience.ts'
import { type ImportResult, piecesOf, resultsOf } from './import-journal.ts'
import {
  asText,
  checkSettings,
  type ImportSettings,
  queryOf,
  reportEmptyGroup,
  settingsIn,
} from './import-settings.ts'
import { type ImportInput, importSheet, readImport, slicesOf } from './import-sheet.ts'
import { importUndo } from './removal-undo.ts'

/**
 * Resuming an import repeats it: chips that exist are left unchanged. Its journal has the sheet, and the results of rows
 * that were not created; all results where a row does not name its UID, or keys keep the sheet out of the journal.
 */
export const chipImport: WholeKind<ImportResult> = {
  name: 'chips import',
  isRepeated: true,
  isResult: shape<ImportResult>({ row: isNumber, uid: isText, status: isStatus, error: orAbsent(isText) }),
  resume: async (ctx, { header, copy, isOwn, sheet: kept }, options) => {
    ctx.needAdmin()
    const { settings = {} } = header
    const repeat = (sheet: ImportInput) =>
      runImport(ctx, {
        input: header.input,
        sheet,
        settings: settingsIn(settings),
        sheetSettings: {},
        rate: options.rate,
        resumes: { header, copy, isOwn, takeOver: options.takeOver },
      })
    if (kept !== undefined && options.file === undefined) {
      if (!options.yes) await assertUnchanged(header)
      return repeat({
        rows: header.total,
        needKeySet: 0,
        blocks: kept.map((piece) => Buffer.from(piece)),
        hasKeys: false,
        hasUids: settings.hasUids === 'true',
      })
    }
    const file = options.file ?? header.input.path
    if (file === null || (options.file === undefined && !existsSync(file)))
      throw new UsageError(
        `--file is missing: this import was read from ${file === null ? 'standard input' : `${file}, which is not here`}, and its journal does not have the keys of the chips.`,
        'Give the same input again.',
      )
    const source = openSource(ctx.system, file)
    const sheet = await readImport(source, sheetOptions(fromSettings(settings, options), importSheet), true)
    if (header.input.sha256 !== null && source.sha256() !== header.input.sha256) {
      throw new UsageError(
        `${source.name} is not the file that the batch started with.`,
        'For the new input, start a new batch: tapchip chips import',
      )
    }
    return repeat(sheet)
  },
  report: async (ctx, history, failedAlone) => {
    for (const { row, uid, status, error } of resultsOf(history)) {
      if (failedAlone && status !== 'failed') continue
      await ctx.io.line(
        { row, uid, status, error },
        () =>
          `row ${row}  ${bothForms(uid)}  ${status}${status === 'failed' ? `  ${clean(error ?? '')}` : ''}`,
      )
    }
  },
  chips: async (_, history) => [...resultsOf(history)],
  undo: {
    name: importUndo.name,
    question: (count) => `Remove ${counted(count, 'chip')}?`,
    nothing: 'The import created nothing.',
    rows: (history) =>
      [...resultsOf(history)].flatMap(({ row, uid, status }) =>
        (status === 'created' || status === 'pending') && uid !== ''
          ? [{ row, uid: readUid(uid), batch: history.header.id }]
          : [],
      ),
    as: importUndo,
  },
}

const mostOutages = 10

/** Whoever has changed the file since may expect that its new rows are imported. */
const assertUnchanged = async ({ input }: Header): Promise<void> => {
  if (input.path === null || input.sha256 === null || !existsSync(input.path)) return
  const hash = createHash('sha256')
  for await (const piece of createReadStream(input.path)) hash.update(piece)
  if (hash.digest('hex') === input.sha256) return
  throw new UsageError(
    `${input.path} is not the file that the batch started with.`,
    'To continue with the rows that it started with: --yes. For the new input, start a new batch: tapchip chips import',
  )
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
  const hasUids = sheet.hasUids ? 'true' : undefined
  const about = {
    kind: chipImport.name,
    total,
    input,
    settings: { ...asText(settings), ...sheetSettings, hasUids },
  }
  const { id, journal } = dryRun
    ? { id: undefined, journal: undefined }
    : resumes
      ? { id: resumes.header.id, journal: await reopenJournal(ctx, resumes, rowsLeft(total, total)) }
      : await beginJournal(ctx, about, { sheet: sheet.hasKeys ? [] : piecesOf(sheet.blocks) })
  const isEachReported = io.json || sheet.hasKeys || !sheet.hasUids
  const stopping = 'Stopping. Press Ctrl-C again to stop now.'
  const run = openRun(ctx, { id, journal, label: 'Importing', total, rate, stopping })
  const failures = new Map<number, { readonly row: number; readonly uid: string; readonly error: string }>()
  const counts = { created: 0, unchanged: 0, failed: 0 }
  let isComplete = false
  /** The last row of which there was an answer. */
  let heard = 0
  let told = 0

  async function* content() {
    const size = sheet.blocks.reduce((sum, block) => sum + block.length, 0)
    let sent = 0
    for (const { bytes, rows } of slicesOf(sheet.blocks, run.pace.size(Number.POSITIVE_INFINITY))) {
      await run.pace.turn(rows)
      yield bytes
      sent += bytes.length
      const done = Math.max(told, Math.floor((total * sent) / size))
      run.progress.advance(done - told)
      told = done
    }
  }
  const { signal } = run.stop
  const importAll = async (): Promise<void> => {
    const answers = client.stream('POST /admin/chips/import', {
      query: queryOf(settings, isEachReported ? 'all' : 'exceptions', dryRun),
      upload: { contentType: 'text/csv', content: content() },
      signal,
    })
    for await (const answer of answers) {
      if (!('row' in answer)) {
        Object.assign(counts, answer)
        isComplete = true
        continue
      }
      const { row, uid, status, error } = answer
      if (row <= heard) continue
      heard = row
      if (status === 'failed') failures.set(row, { row, uid, error: error ?? '' })
      const result = { row, uid, status, error }
      journal?.append({ type: 'result', ...result })
      if (isEachReported) counts[status] += 1
      await run.show(result, () => clean(`row ${row}  ${uid}  failed  ${error ?? ''}`))
    }
    isComplete ||= counts.created + counts.unchanged + counts.failed === total
    if (!isComplete && !signal.aborted) throw new CutShort('The daemon did not answer all rows.')
  }
  const patience = new Patience(ctx, client, signal, (await instanceNow(ctx)).instance)
  try {
    // A daemon that was restarted gets all rows again: those that this batch registered are still answered as created.
    for (let outages = 0; !isComplete && !signal.aborted; outages += 1)
      await importAll().catch((error: unknown) => {
        if (outages === mostOutages) throw error
        return patience.wait(error)
      })
    const taken = run.taken()
    if (taken && !isComplete) throw taken.error
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
    noteRequests(ctx, 'POST /admin/chips/import', total)
    return exitCode
  }
  const undo = created > 0 && !io.json ? ` Undo it: tapchip batch undo ${id}` : ''
  io.note(
    `${counted(created, 'chip')} created, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} failed.${undo}`,
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
