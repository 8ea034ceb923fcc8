import { setTimeout as delay } from 'node:timers/promises'
import { type Card, CardError, NoCard, NoReader } from '../../nfc/card.ts'
import { auditHeadNow } from '../batch/reconnect-policy.ts'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, Interrupted, withTrailingAdvice } from '../errors.ts'
import { cleanLines, formatNumber, shellQuoted } from '../io/text.ts'
import { isReaderOutage, workReader } from './box-reader.ts'
import { Box, BoxOver, type BoxRun } from './box-state.ts'
import { type After, summarise } from './box-view.ts'
import { asCliError, oneLine } from './errors.ts'
import { outagePatienceMs } from './run-session.ts'

/** Interval of a look at which readers there are. The list is cached, so this costs nothing. */
const pollMs = 400

const watchMs = 2_000

export const runBox = async (ctx: CliContext, run: BoxRun): Promise<ExitCode> => {
  const box = new Box(ctx, run)
  let end: unknown
  const goOn = continueWith(run)
  // A second Ctrl-C ends the process here and now.
  const unlisten = ctx.system.atExit(() => goOn && ctx.system.stderr.write(`${cleanLines(goOn)}\n`))
  void watchSheet(box)
  try {
    end = await (run.everyReader ? workEvery(box) : workOne(box))
  } catch (error) {
    end = error
  }
  box.finish()
  unlisten()
  end = run.stop.now.aborted && !box.isDone ? run.stop.now.reason : (box.failure ?? end)
  if (box.isDone && isOfWaiting(end)) end = undefined
  const { isDone } = box
  const auditHead = run.file && isDone ? await auditHeadNow(ctx) : undefined
  run.file?.close({ at: ctx.now().toISOString(), isDone, auditHead })
  run.view.close()
  if (!run.isSingle) summarise(ctx, box)
  if (run.id !== undefined && isDone && run.rows.done > 0)
    ctx.io.hint(`Print their labels: tapchip labels print --batch ${run.id} --out labels.pdf`)
  return exitCodeOf(ctx, box, end)
}

/** Another station may take the last row while nobody puts a chip down here. */
const watchSheet = async (box: Box): Promise<void> => {
  const { sheet } = box.run.order
  while (sheet && !box.isComplete) {
    await delay(watchMs, undefined, { signal: box.ended }).catch(() => undefined)
    if (box.isComplete) return
    const now = await box.ctx
      .call('GET /admin/nfc/sheets/:run', { params: { run: sheet.run } })
      .catch(() => undefined)
    if (now) box.sheet = now
    if (box.isSheetUsedUp) box.finish()
  }
}

/** The reader that was asked for, or whichever has a chip. */
const workOne = (box: Box): Promise<unknown> => {
  const { opened, view } = box.run
  let wasAnnounced = false
  return workReader(box, async (after) => {
    // An emulator without a card will not get one.
    const [emulator] = opened.isEmulator ? await opened.all.list() : []
    if (emulator?.state === 'empty') throw new NoCard()
    view.ready(box, undefined, after)
    for (;;) {
      try {
        const card = await opened.nextCard({
          timeoutMs: box.patience(),
          signal: box.ended,
          isAnnounced: !box.run.isSingle,
        })
        wasAnnounced = true
        return card
      } catch (error) {
        if (!isReaderOutage(error) || !wasAnnounced || box.run.isSingle) throw error
        await outage(box, error)
      }
    }
  })
}

/** All readers side by side, also those that are plugged in later. */
const workEvery = async (box: Box): Promise<unknown> => {
  const { opened, view, stop } = box.run
  const { all } = opened
  const isOurs = await opened.fields()
  const working = new Map<string, Promise<void>>()
  const work = async (reader: string): Promise<void> => {
    const next = async (after: After): Promise<Card> => {
      view.ready(box, reader, after)
      for (;;) {
        try {
          const onUnusable = (why: NoCard) => view.waiting(box, reader, oneLine(why))
          const wait = { reader, readers: isOurs, timeoutMs: box.patience(), signal: box.ended, onUnusable }
          return await all.waitForCard(wait)
        } catch (error) {
          // Somebody may be busy at another reader.
          if (!(error instanceof NoCard) || box.patience() === 0) throw error
        }
      }
    }
    try {
      await workReader(box, next)
    } catch (error) {
      // If the reader service stops, all readers disappear together.
      if (error instanceof NoReader) view.gone(box, reader)
      if (isReaderOutage(error)) return
      if (!box.ended.aborted) box.finish(error)
    }
  }
  let wasAnnounced = false
  while (!box.isComplete) {
    const found = await all.list().then(
      (list) => ({ names: list.filter(isOurs).map(({ name }) => name) }),
      (error: unknown) => ({ names: [], error }),
    )
    const { names } = found
    for (const name of names) {
      if (working.has(name)) continue
      working.set(
        name,
        work(name).finally(() => working.delete(name)),
      )
    }
    const missing = 'error' in found ? found.error : new NoReader()
    if (names.length === 0 && !wasAnnounced) throw missing
    wasAnnounced = true
    if (names.length === 0 && working.size === 0 && isReaderOutage(missing)) await outage(box, missing)
    else if (names.length === 0 && !isReaderOutage(missing)) throw missing
    else await delay(pollMs, undefined, { signal: box.ended }).catch(() => undefined)
  }
  await Promise.all(working.values())
  stop.now.throwIfAborted()
  return box.failure
}

/** Waits until there are readers again. @throws the error once it has lasted too long, or the reason of a stop */
const outage = async (box: Box, error: Error): Promise<void> => {
  const { opened } = box.run
  const isPresent = async () => {
    const isOurs = await opened.fields()
    return (await opened.all.list()).some(isOurs)
  }
  box.ctx.io.warn(`${oneLine(error)} Waiting for it; Ctrl-C stops.`)
  const until = performance.now() + outagePatienceMs(box.ctx)
  while (!(await isPresent().catch(() => false))) {
    if (performance.now() >= until) throw error
    await delay(pollMs, undefined, { signal: box.ended }).catch(() => box.ended.throwIfAborted())
  }
  box.active()
  box.ctx.io.note('The reader is back.')
}

const isOfWaiting = (end: unknown): boolean =>
  end instanceof NoCard || end instanceof Interrupted || end instanceof BoxOver

const exitCodeOf = ({ io }: CliContext, box: Box, end: unknown): ExitCode => {
  const { rows, count, isSingle, reader } = box.run
  const { unfinished } = box
  const goOn = continueWith(box.run)
  if (end instanceof Interrupted)
    throw new Interrupted(`Stopped: ${formatNumber(rows.done)} of ${formatNumber(count)} are done.`, goOn)
  // Its line has said the rest.
  if (isSingle && end instanceof CardError && box.failed > 0) {
    const choice = reader === undefined ? '' : ` --reader ${shellQuoted(reader)}`
    throw new CliError('The chip is not finished.', {
      exitCode: exitCodes.noReader,
      advice: `Put it on the reader again, and run: tapchip nfc recover${choice}`,
    })
  }
  const hasBegun = rows.done > 0 || unfinished.size > 0
  if (end !== undefined && !(end instanceof NoCard && hasBegun && !isSingle)) throw withAdvice(end, goOn)
  if (end !== undefined) io.warn([oneLine(end), goOn].filter(Boolean).join(' '))
  if (!box.isDone) return rows.done === 0 ? exitCodes.failed : exitCodes.partial
  return unfinished.size + box.passed > 0 ? exitCodes.partial : exitCodes.done
}

const continueWith = ({ id }: BoxRun): string | undefined =>
  id === undefined ? undefined : `Continue: tapchip nfc provision --resume ${id}`

/** Whatever ends a box says how to go on with it. */
const withAdvice = (end: unknown, goOn: string | undefined): unknown => {
  const error = asCliError(end)
  if (goOn === undefined) return error
  if (!(error instanceof CliError)) return withTrailingAdvice(error, goOn)
  const advice = [error.advice, goOn].filter(Boolean).join('\n')
  return new CliError(error.message, { exitCode: error.exitCode, advice, cause: error })
}
