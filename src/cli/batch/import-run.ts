import { ApiError } from '../client/errors.ts'
import type { Client } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, withAfterword } from '../errors.ts'
import { asWord, clean, counted, grouped } from '../io/text.ts'
import { beginBatch, takeUpBatch } from './begin.ts'
import { checkFailedFile, rowsOfBlocks, writeFailedRows } from './failed-file.ts'
import { failureTeller } from './failures.ts'
import type { ImportInput } from './import-input.ts'
import { createPace } from './pace.ts'
import { piecesOf } from './pieces.ts'
import type { Header } from './records.ts'

export interface ImportSettings {
  readonly team: string | undefined
  readonly chipGroup: string
  readonly keySet: number | undefined
  readonly simulated: boolean
}

/** As text, for the journal: what it takes to do it again. */
const asText = ({ team, chipGroup, keySet, simulated }: ImportSettings): Record<string, string> => ({
  chipGroup,
  ...(team === undefined ? {} : { team }),
  ...(keySet === undefined ? {} : { keySet: String(keySet) }),
  ...(simulated ? { simulated: 'true' } : {}),
})

/**
 * Sends a checked sheet as one stream. Doing it again creates nothing twice, so resuming an import is doing it
 * again; the journal keeps the failures and, under --json, every row.
 */
export const runImport = async (
  ctx: CliContext,
  {
    input,
    sheet,
    settings,
    sheetSettings,
    dryRun,
    resumes,
    rate,
    failedFile,
  }: {
    readonly input: Header['input']
    readonly sheet: ImportInput
    readonly settings: ImportSettings
    /** How the sheet was read, as text: for the journal. */
    readonly sheetSettings: Readonly<Record<string, string>>
    readonly dryRun: boolean
    readonly resumes?: string
    /** Rows a second. */
    readonly rate?: number | undefined
    readonly failedFile?: string | undefined
  },
): Promise<ExitCode> => {
  const { io } = ctx
  ctx.needAdmin()
  checkFailedFile(ctx, failedFile)
  const client = await ctx.client()
  const about = {
    kind: 'chips import',
    total: sheet.rows,
    input,
    settings: { ...asText(settings), ...sheetSettings },
  } as const
  if (!dryRun && !resumes) await checkSettings(ctx, client, settings, sheet)
  const { id, journal } = dryRun
    ? { id: undefined, journal: undefined }
    : resumes
      ? { id: resumes, journal: await takeUpBatch(ctx, { id: resumes, total: sheet.rows }, sheet.rows) }
      : await beginBatch(ctx, about, [])
  io.beforeSend(() => journal?.flush())
  const progress = io.progress('Importing', sheet.rows)
  const failures = failureTeller(io)
  const stopped = new AbortController()
  const pace = createPace(rate)
  const failedRows = new Set<number>()
  const stopListening = ctx.at.interrupts.listen(() => {
    io.warn('Stopping. Once more ends at once.')
    pace.release()
    stopped.abort()
  })
  const counts = { created: 0, unchanged: 0, failed: 0 }
  let complete = false

  async function* content() {
    const size = sheet.blocks.reduce((sum, block) => sum + block.length, 0)
    let sent = 0
    let told = 0
    for (const { bytes, rows } of piecesOf(sheet.blocks, pace.size(Number.POSITIVE_INFINITY))) {
      await pace.turn(rows)
      yield bytes
      sent += bytes.length
      const done = Math.floor((sheet.rows * sent) / size)
      progress.advance(done - told)
      told = done
    }
  }
  try {
    const answers = client.stream('POST /admin/chips/import', {
      query: {
        ...settings,
        report: io.json ? 'all' : 'failures',
        dryRun,
        simulated: settings.simulated || undefined,
      },
      upload: { contentType: 'text/csv', content: content() },
      signal: stopped.signal,
    })
    for await (const answer of answers) {
      if (!('row' in answer)) {
        Object.assign(counts, answer)
        complete = true
        continue
      }
      const { row, uid, status, error } = answer
      if (status === 'failed') failedRows.add(row)
      journal?.append({ type: 'result', row, uid, status, ...(error === undefined ? {} : { error }) })
      if (io.json) {
        counts[answer.status] += 1
        await io.line(answer, () => '')
      } else if (answer.status === 'failed') {
        progress.clear()
        const why = answer.error ?? ''
        failures.tell(clean(`row ${row}  ${uid}  failed  ${why}`), { row, why })
      }
    }
    complete ||= counts.created + counts.unchanged + counts.failed === sheet.rows
  } catch (error) {
    // A refusal of the sheet itself is no batch to go on with.
    const mayGoOn = !(error instanceof ApiError) || error.statusCode >= 500
    throw journal && mayGoOn ? withAfterword(error, `Go on: tapchip batch resume ${id}`) : error
  } finally {
    stopListening()
    progress.end()
    failures.end(id)
    const { created, unchanged, failed } = counts
    journal?.append({
      type: 'end',
      at: ctx.now().toISOString(),
      how: complete ? 'done' : 'stopped',
      changed: created,
      unchanged,
      failed,
    })
    journal?.close()
  }
  const { created, unchanged, failed } = counts
  if (!complete) {
    io.note(id === undefined ? 'Stopped.' : `Stopped. Go on: tapchip batch resume ${id}`)
    return exitCodes.interrupted
  }
  io.note(
    dryRun
      ? `Dry run: ${counted(created, 'chip')} would be created, ${grouped(unchanged)} unchanged, ${grouped(failed)} would fail. Nothing was written.`
      : `${counted(created, 'chip')} created, ${grouped(unchanged)} unchanged, ${grouped(failed)} failed.`,
  )
  if (!dryRun && failed === sheet.rows) await tellEmptyGroup(ctx, settings)
  if (failedFile !== undefined && !dryRun) {
    const { heading, rows } = rowsOfBlocks(sheet.blocks, failedRows)
    writeFailedRows(ctx, failedFile, heading, rows)
  }
  if (!dryRun && failed < sheet.rows)
    io.hint(`See them: tapchip chips list --chip-group ${asWord(settings.chipGroup)}`)
  return failed > 0 ? exitCodes.partial : exitCodes.done
}

/** The heading alone, as a dry run: what is wrong with more than a row is known before there is a batch. */
const checkSettings = async (
  ctx: CliContext,
  client: Client,
  settings: ImportSettings,
  { blocks }: ImportInput,
): Promise<void> => {
  await ctx.beforeWrite()
  const [first = Buffer.alloc(0)] = blocks
  const upload = { contentType: 'text/csv', content: [first.subarray(0, first.indexOf('\n') + 1)] }
  const query = {
    ...settings,
    report: 'failures',
    dryRun: true,
    simulated: settings.simulated || undefined,
  } as const
  const answers = client.stream('POST /admin/chips/import', { query, upload })
  for await (const _ of answers);
}

/** The group is made before the first row, and stays where none went well: nobody should wonder where it came from. */
const tellEmptyGroup = async (ctx: CliContext, { chipGroup, team }: ImportSettings): Promise<void> => {
  // Only a word more: without an answer it is left out.
  const groups = await ctx.call('GET /admin/chip-groups', { query: { team } }).catch(() => [])
  if (groups.find(({ name }) => name === chipGroup)?.chips !== 0) return
  ctx.io.note(
    `The chip group "${clean(chipGroup)}" is there now, and is empty. Remove it: tapchip chip-groups remove ${asWord(chipGroup)}`,
  )
}
