import { type Card, CardGone, NoCard } from '../../nfc/card.ts'
import { auditHeadNow } from '../batch/instance.ts'
import type { JournalLine } from '../batch/journal.ts'
import type { Journal } from '../batch/journal-file.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, Interrupted } from '../errors.ts'
import { counted, formatNumber } from '../io/text.ts'
import { bothForms } from '../uid.ts'
import type { ChipRow, RowsOfChips } from './chip-rows.ts'
import { asCliError, oneLine } from './errors.ts'
import { cardTimeoutMs, type OpenedReaders } from './readers.ts'
import { type Details, type Inspected, type Order, relayWithRetry, type SessionResult } from './relay.ts'
import type { Stop } from './stop.ts'

export interface BoxRun {
  readonly opened: OpenedReaders
  readonly order: Order & { readonly keySet: number }
  readonly count: number
  readonly rows: RowsOfChips
  readonly hasFile: boolean
  /** A single chip, whatever happens to it. */
  readonly isSingle: boolean
  readonly journal: Journal | undefined
  readonly id: string | undefined
  readonly stop: Stop
}

interface Tally {
  provisioned: number
  unchanged: number
  failed: number
  /** Chips that failed and did not come back; those with an unknown UID count one each. */
  readonly left: Set<string>
}

export const runBox = async (ctx: CliContext, run: BoxRun): Promise<ExitCode> => {
  const { rows, count, stop } = run
  const tally: Tally = { provisioned: 0, unchanged: 0, failed: 0, left: new Set() }
  const startedAt = ctx.now().getTime()
  let end: unknown
  try {
    for (let first = true; rows.done < count; first = false) {
      const card = await nextCard(ctx, run, first)
      const problem = await setUp(ctx, run, tally, card)
      if (run.isSingle) {
        if (problem instanceof CardGone) end = problem
        break
      }
      if (rows.done < count) await waitUntilRemoved(ctx, card, stop)
      await card.release()
    }
  } catch (error) {
    end = error
  }
  const how = rows.done >= count ? 'done' : 'stopped'
  const { provisioned: changed, unchanged, failed } = tally
  const auditHead = run.journal && how === 'done' ? await auditHeadNow(ctx) : undefined
  write(run, { type: 'end', at: ctx.now().toISOString(), how, changed, unchanged, failed, auditHead })
  if (!run.isSingle) summarise(ctx, run, tally, ctx.now().getTime() - startedAt)
  return exitCodeOf(ctx, run, tally, end)
}

/** Every line is on disk before the next card is touched. */
const write = ({ journal }: BoxRun, line: JournalLine): void => {
  journal?.append(line)
  journal?.sync()
}

const nextCard = async (ctx: CliContext, run: BoxRun, first: boolean): Promise<Card> => {
  const { opened, rows, count, stop, isSingle } = run
  // An emulator without a card will not get one.
  const [reader] = opened.isEmulator ? await opened.all.list() : []
  if (reader?.state === 'empty') throw new NoCard()
  if (!isSingle) {
    const row = rows.next()
    const about = row ? `, ${nameOf(row)}` : ''
    ctx.io.hint(
      `Chip ${formatNumber(rows.done + 1)} of ${formatNumber(count)}${about}: put ${first ? 'it' : 'the next one'} on the reader`,
    )
  }
  return opened.nextCard({ timeoutMs: cardTimeoutMs(ctx), signal: stop.now })
}

const nameOf = ({ row, label }: ChipRow): string =>
  label === undefined ? `row ${row}` : `row ${row} (${label})`

/** @returns the error after which the chip has to be put down again */
const setUp = async (
  ctx: CliContext,
  run: BoxRun,
  tally: Tally,
  card: Card,
): Promise<CardGone | undefined> => {
  const { opened, order, rows, stop } = run
  let uid: string | undefined
  let row: ChipRow | undefined
  const onInspected = (chip: Inspected): Details => {
    uid = chip.uid
    row = rows.rowFor(uid, chip.registered?.label ?? null)
    write(run, { type: 'begun', uid, ...(row ? { row: row.row } : {}) })
    const { row: _, ...details } = row ?? { row: 0 }
    // A chip that got new keys in this run does not get others.
    return { ...details, ...(rows.has(uid) ? { rekey: false } : {}) }
  }
  try {
    const wanted = { ...order, waitForDetails: true }
    const outcome = await relayWithRetry(ctx, opened, card, wanted, { stop, onInspected })
    await printChip(ctx, run, tally, outcome, row)
    return undefined
  } catch (error) {
    if (!(error instanceof CardGone)) throw error
    const { keySet } = order
    const failed = { status: 'failed', uid: uid ?? null, keySet, url: null, error: oneLine(error) } as const
    await printChip(ctx, run, tally, failed, row)
    return error
  }
}

const printChip = async (
  ctx: CliContext,
  run: BoxRun,
  tally: Tally,
  { uid, status, keySet, url, error }: SessionResult,
  row: ChipRow | undefined,
): Promise<void> => {
  const { rows, count, order, hasFile, isSingle } = run
  const isDone = uid !== null && (status === 'provisioned' || status === 'unchanged')
  if (isDone) {
    rows.take(uid, row?.row)
    tally[status] += 1
    tally.left.delete(uid)
  } else {
    tally.failed += 1
    tally.left.add(uid ?? `unknown ${tally.failed}`)
  }
  const shownRow = isDone && hasFile && row ? { row: row.row } : {}
  if (uid !== null)
    write(run, {
      type: 'result',
      uid,
      status: isDone ? status : 'failed',
      ...shownRow,
      error,
    })
  const line = {
    uid,
    status,
    keySet: keySet ?? order.keySet,
    url,
    ...shownRow,
    error,
  }
  await ctx.io.line(line, () => {
    const about = isDone && row ? `  ${nameOf(row)}` : ''
    const place = isSingle ? '' : `  ${formatNumber(rows.done)} of ${formatNumber(count)}`
    return `${uid === null ? 'unknown chip' : bothForms(uid)}  ${status}${about}${place}`
  })
  if (error !== undefined && !ctx.io.json) ctx.io.warn(error)
  if (isSingle && isDone) ctx.io.hint('Check its tap: tapchip nfc verify')
  if (!isSingle && ctx.system.stderr.isTTY && !ctx.flags.quiet)
    ctx.system.stderr.write(isDone ? '\x07' : '\x07\x07')
}

const waitUntilRemoved = async (ctx: CliContext, card: Card, { now }: Stop): Promise<void> => {
  ctx.io.hint('Remove it from the reader.')
  await card.removed({ signal: now })
}

const summarise = (ctx: CliContext, { rows, count }: BoxRun, tally: Tally, ms: number): void => {
  const { provisioned, unchanged, failed } = tally
  const rate = Math.round(((provisioned + unchanged) * 60_000) / Math.max(1, ms))
  ctx.io.note(
    `${counted(rows.done, 'chip')} of ${formatNumber(count)} done: ${formatNumber(provisioned)} provisioned, ` +
      `${formatNumber(unchanged)} unchanged, ${formatNumber(failed)} failed (${formatNumber(rate)} a minute)`,
  )
}

const exitCodeOf = (
  { io }: CliContext,
  { rows, count, id, isSingle }: BoxRun,
  { left }: Tally,
  end: unknown,
): ExitCode => {
  const goOn = id === undefined ? undefined : `Continue: tapchip nfc provision --resume ${id}`
  if (end instanceof Interrupted)
    throw new Interrupted(`Stopped: ${formatNumber(rows.done)} of ${formatNumber(count)} are done.`, goOn)
  const begun = rows.done > 0 || left.size > 0
  if (end !== undefined && !(end instanceof NoCard && begun && !isSingle)) throw asCliError(end)
  if (end !== undefined) io.warn([oneLine(end), goOn].filter(Boolean).join(' '))
  if (rows.done < count) return rows.done === 0 ? exitCodes.failed : exitCodes.partial
  return left.size > 0 ? exitCodes.partial : exitCodes.done
}
