import { fromSettings, type SheetFlags, sheetOptions } from '../batch/input/flags.ts'
import { inputOf, openSource, type Source } from '../batch/input/source.ts'
import { assertSameDaemon, instanceNow } from '../batch/reconnect-policy.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../errors.ts'
import { counted } from '../io/text.ts'
import { BoxFile } from './box-file.ts'
import { assertOrder, type BoxInput, joinSheet } from './box-order.ts'
import { runBox } from './box-run.ts'
import type { BoxView } from './box-view.ts'
import { type ChipRow, chipSheet, RowsOfChips, readChipRows } from './chip-rows.ts'
import type { Order } from './forward-apdus.ts'
import { isProvisioned } from './is-provisioned.ts'
import { ALL, withReaders } from './readers.ts'
import { makeSessionRunner } from './run-session.ts'
import { assertStopped, type ChipEvent, type SavedBox } from './saved-box.ts'
import { withStop } from './stop.ts'

export const readRows = (source: Source, flags: SheetFlags): Promise<ChipRow[]> =>
  readChipRows(source, sheetOptions(flags, chipSheet))

export const provisionBox = (ctx: CliContext, input: BoxInput): Promise<ExitCode> =>
  withStop(ctx, async (stop) => {
    const { source, resumes, reader } = input
    await ctx.confirmContext()
    await assertOrder(ctx, input)
    // Each chip is a session of its own, and this is the request that would open it.
    if (ctx.flags.dryRun) {
      await sayUrl(ctx, input.order.keySet)
      await ctx.call('POST /admin/nfc/sessions', { body: input.order })
    }
    const total = input.count ?? Math.max(1, input.rows.length)
    const everyReader = reader === ALL
    const isSingle = input.count === undefined && source === undefined && !everyReader
    const rows = new RowsOfChips(input.rows)
    const found = resumes ? await takeUp(ctx, rows, resumes.events, input.order) : []
    const remaining = total - rows.done
    if (remaining <= 0 && found.length === 0) {
      ctx.io.note('Every chip is done. Nothing to do.')
      return exitCodes.done
    }
    await ctx.beforeWrite()
    const sheet = source === undefined ? undefined : await joinSheet(ctx, input, source)
    if (sheet && sheet.taken >= sheet.rows && found.length === 0) {
      ctx.io.note('All rows of the sheet are already provisioned. Nothing to do.')
      return exitCodes.done
    }
    const order = sheet === undefined ? input.order : { ...input.order, sheet: { run: sheet.run } }
    const { instance } = await instanceNow(ctx)
    // A token that is not known is told before anybody looks for a chip.
    if (!isSingle && sheet === undefined) await ctx.call('GET /admin/nfc/journal', { query: { limit: 1 } })
    // The emulator keeps one card, unless several are needed: one more may be needed to learn that another station has
    // taken the last row.
    const blankChips =
      input.count !== undefined || total > 1 ? remaining + (source === undefined ? 0 : 1) : undefined
    return withReaders(ctx, { reader, blankCards: blankChips }, async (opened) => {
      // A reader that is not there leaves no batch behind.
      if (!opened.isEmulator) await opened.fields()
      const { id, file } = isSingle
        ? { id: undefined, file: undefined }
        : resumes
          ? { id: resumes.header.id, file: BoxFile.reopen(resumes) }
          : BoxFile.begin(ctx.system, ctx.now(), aboutBox(ctx, { ...input, order }, total, instance))
      try {
        if (id !== undefined) {
          ctx.inBatch(id)
          ctx.io.note(`Batch ${id}: ${counted(remaining, 'chip')}`)
        }
        for (const { uid, row } of found) file?.write({ type: 'result', uid, row, status: 'provisioned' })
        return await runBox(ctx, {
          opened,
          runner: await makeSessionRunner(ctx, opened, { stop, instance }),
          view: input.view,
          order,
          count: total,
          rows,
          sheet,
          isSingle: isSingle || (opened.isEmulator && blankChips === undefined),
          everyReader,
          file,
          id,
          reader,
          stop,
        })
      } finally {
        file?.close()
      }
    })
  })

/** A token of the scope provision alone may not read key sets. */
const sayUrl = async (ctx: CliContext, keySet: number): Promise<void> => {
  const sets = await ctx.call('GET /admin/key-sets').catch(() => [])
  const url = sets.find(({ id }) => id === keySet)?.url
  if (url !== undefined) ctx.io.note(`Chips would show ${url}`)
}

const aboutBox = (
  ctx: CliContext,
  { order, count, reader, source, sheetSettings }: BoxInput,
  total: number,
  instance: string | undefined,
) => {
  const { team, keySet, chipGroup = '', rekey, acceptUrl, originality, sheet, keys, tryFactoryKeys } = order
  const { fileData, aar, text } = order
  return {
    url: ctx.config().url,
    instance,
    context: ctx.config().contextName,
    total,
    input: source ? inputOf(source) : { name: '', path: null, sha256: null },
    settings: {
      keySet: String(keySet),
      chipGroup,
      team,
      rekey: rekey ? 'true' : undefined,
      acceptUrl: acceptUrl ? 'true' : undefined,
      // The keys themselves are not kept here.
      keys: keys ? 'true' : undefined,
      tryFactoryKeys: tryFactoryKeys ? 'true' : undefined,
      allowUnsigned: originality === 'any' ? 'true' : undefined,
      fileData,
      aar,
      text,
      sheetRun: sheet?.run.toString(),
      count: count?.toString(),
      reader,
      ...sheetSettings,
    },
  }
}

/** Resumes a box with the same settings and the same sheet. */
export const resumeBox = async (
  ctx: CliContext,
  box: SavedBox,
  options: {
    readonly file?: string | undefined
    readonly reader?: string | undefined
    readonly keys?: Pick<Order, 'keys' | 'uid'>
    readonly view: BoxView
  },
): Promise<ExitCode> => {
  const { settings, input } = box.header
  assertStopped(box)
  await assertSameDaemon(ctx, box.header)
  if (settings.keys === 'true' && options.keys?.keys === undefined)
    throw new UsageError(
      '--keys is missing: a box does not keep the keys of chips.',
      'Give the same file again: tapchip nfc provision --resume ID --keys FILE',
    )
  const file = options.file ?? input.path ?? undefined
  if (file === undefined && input.sha256 !== null)
    throw new UsageError(
      '--file is missing: the rows were read from standard input.',
      'Give the same input again.',
    )
  const source = file === undefined ? undefined : openSource(ctx.system, file)
  const rows = source ? await readRows(source, fromSettings(settings)) : []
  if (source && source.sha256() !== input.sha256)
    throw new UsageError(
      `${source.name} is not the file that the box started with.`,
      'For other rows, start a new box.',
    )
  return provisionBox(ctx, {
    order: {
      purpose: 'provision',
      keySet: Number(settings.keySet),
      chipGroup: settings.chipGroup ?? '',
      rekey: settings.rekey === 'true',
      acceptUrl: settings.acceptUrl === 'true',
      tryFactoryKeys: settings.tryFactoryKeys === 'true',
      ...options.keys,
      fileData: settings.fileData,
      aar: settings.aar,
      text: settings.text,
      ...(settings.allowUnsigned === 'true' ? { originality: 'any' as const } : {}),
      ...(settings.team === undefined ? {} : { team: settings.team }),
    },
    reader: options.reader ?? settings.reader,
    count: settings.count === undefined ? undefined : Number(settings.count),
    rows,
    source,
    sheetSettings: {},
    startOver: false,
    view: options.view,
    resumes: box,
  })
}

/**
 * Restores the results of earlier runs. If one did not record the end of a chip, the daemon knows it.
 * @returns what it knew
 */
const takeUp = async (
  ctx: CliContext,
  rows: RowsOfChips,
  events: readonly ChipEvent[],
  { keySet, rekey }: BoxInput['order'],
): Promise<readonly ChipEvent[]> => {
  const open = new Map<string, number | undefined>()
  for (const { uid, row, status } of events) {
    if (status === undefined) open.set(uid, row)
    else open.delete(uid)
    if (status !== undefined && status !== 'failed') rows.take(uid, row)
  }
  // It is not known if an earlier chip got its new keys, so it has to be put down again.
  if (rekey) return []
  const found: ChipEvent[] = []
  for (const [uid, row] of open) {
    if (rows.has(uid) || !(await isProvisioned(ctx, uid, keySet))) continue
    rows.take(uid, row)
    found.push({ uid, row, status: 'provisioned' })
  }
  return found
}
