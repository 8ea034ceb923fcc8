import { rmSync } from 'node:fs'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../errors.ts'
import { clean } from '../io/text.ts'
import { isProvisioned } from '../nfc/is-provisioned.ts'
import { assertStopped, type ChipEvent, damageOf, type SavedBox } from '../nfc/saved-box.ts'
import { bothForms } from '../uid.ts'
import { hostName } from './submit.ts'

// The verbs of batches for a box of chips (`nfc provision`), which its reader's machine keeps.

/** The last state of each chip, in the order in which the chips were presented. */
const chipsIn = (events: readonly ChipEvent[]): ChipEvent[] => {
  const chips = new Map<string, ChipEvent>()
  for (const event of events) {
    const before = chips.get(event.uid)
    // A finished chip stays finished: it may be put down again by mistake.
    const isDone = before?.status === 'provisioned' || before?.status === 'unchanged'
    // One that failed and was put down again is open again, with the row of that time.
    if (!isDone) chips.set(event.uid, { ...event, row: event.row ?? before?.row })
  }
  return [...chips.values()]
}

/** Whoever was killed between the end of a chip and its line did not record it: the daemon knows. */
const chipsOf = async (
  ctx: CliContext,
  { events, header: { settings } }: SavedBox,
): Promise<readonly ChipEvent[]> => {
  const chips = chipsIn(events)
  const doneRows = new Set(chips.flatMap(({ row, status }) => (status && status !== 'failed' ? [row] : [])))
  const outcomes: ChipEvent[] = []
  for (const chip of chips) {
    const isOthers = chip.row !== undefined && doneRows.has(chip.row)
    // A chip that gets new keys is already registered.
    const mayBeDone = (chip.status ?? 'failed') === 'failed' && !isOthers && settings.rekey !== 'true'
    // A chip that failed may have been recovered since, or be a chip of another group that was put down by mistake.
    const group = chip.status === 'failed' ? settings.chipGroup : undefined
    const isDone = mayBeDone && (await isProvisioned(ctx, chip.uid, Number(settings.keySet), group))
    outcomes.push(isDone ? { ...chip, status: 'provisioned', error: undefined } : chip)
  }
  return outcomes
}

/** The same fields as a batch of the daemon. */
export const shownBox = ({ header, state, end, events }: SavedBox) => {
  const { id, total, startedAt, context, settings } = header
  const ended = chipsIn(events).map(({ status }) => status)
  const count = (expected: ChipEvent['status']) => ended.filter((status) => status === expected).length
  const [changed, unchanged, failed] = [count('provisioned'), count('unchanged'), count('failed')]
  return {
    ...{ id, name: null, kind: 'nfc provision', state, team: settings.team ?? null },
    ...{ startedBy: null, approvedBy: null, note: null, at: null, until: null },
    ...{ host: hostName(), context: context ?? null, undoes: null },
    ...{ total, done: changed + unchanged + failed, changed, unchanged, failed, conflict: 0 },
    ...{ error: null, lateSeconds: null, auditHead: end?.auditHead ?? null },
    ...{ createdAt: startedAt, startedAt, endedAt: end?.at ?? null },
  }
}

/** Chips that were not presented yet have no line. */
export const reportBox = async (ctx: CliContext, box: SavedBox, failedAlone: boolean): Promise<ExitCode> => {
  // Without a daemon, a chip whose end was not recorded is pending.
  const chips = await chipsOf(ctx, box).catch(() => chipsIn(box.events))
  for (const { row, uid, status = 'pending', error } of chips) {
    if (failedAlone && status !== 'failed') continue
    const parts = [...(row === undefined ? [] : [`row ${row}`]), bothForms(uid), status]
    await ctx.io.line({ row, uid, status, error }, () =>
      clean([...parts, ...(error === undefined ? [] : [error])].join('  ')),
    )
  }
  if (box.end?.auditHead !== undefined)
    ctx.io.note(
      `The audit log ended with ${box.end.auditHead}. Check it: tapchip audit verify --batch ${box.header.id}`,
    )
  if (box.damaged.length === 0) return exitCodes.done
  ctx.io.warn(`${damageOf(box)}. The chips of those lines were left out.`)
  return exitCodes.partial
}

/** Chips that succeeded, in the order of their rows, then those without one. */
export const chipsDone = async (ctx: CliContext, box: SavedBox): Promise<string[]> => {
  const last = Number.MAX_SAFE_INTEGER
  const done = (await chipsOf(ctx, box)).filter(({ status }) => status && status !== 'failed')
  return [...done].sort((a, b) => (a.row ?? last) - (b.row ?? last)).map(({ uid }) => uid)
}

export const removeBox = async (
  ctx: CliContext,
  box: SavedBox,
  confirm: () => Promise<void>,
): Promise<void> => {
  assertStopped(box)
  await ctx.beforeChange(`Would remove the file of box ${box.header.id}`)
  await confirm()
  rmSync(box.path, { force: true })
}

/** The error for verbs that boxes do not support. */
export const notForBox = (id: string): UsageError =>
  new UsageError(
    `${id} is a box of chips, which is worked on at its reader.`,
    `Ctrl-C there stops it. To go on with it: tapchip batch resume ${id}`,
  )

export const boxCannotBeUndone = (): UsageError =>
  new UsageError(
    'A batch cannot undo the setup of chips.',
    'Reset them one by one on the reader: tapchip nfc reset',
  )
