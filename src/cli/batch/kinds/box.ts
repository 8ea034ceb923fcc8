import type { CliContext } from '../../context.ts'
import { clean } from '../../io/text.ts'
import { isProvisioned } from '../../nfc/is-provisioned.ts'
import { bothForms } from '../../uid.ts'
import { type ChipEvent, countResults, isNumber, isStatus, isText, orAbsent, shape } from '../journal.ts'
import type { ChipOutcome, History, WholeKind } from '../kind.ts'

/** The last state of each chip, in the order in which the chips were presented. */
const chipsIn = (events: readonly ChipEvent[]): Map<string, ChipEvent> => {
  const chips = new Map<string, ChipEvent>()
  for (const event of events) {
    const before = chips.get(event.uid)
    // A finished chip stays finished: it may be put down again by mistake.
    const isDone = before?.status === 'provisioned' || before?.status === 'unchanged'
    // One that failed and was put down again is open again, with the row of that time.
    if (isDone) continue
    chips.set(event.uid, { ...event, row: event.row ?? before?.row })
  }
  return chips
}

/** Whoever was killed between the end of a chip and its line did not record it. */
const chipsOf = async (
  ctx: CliContext,
  { events, header: { settings = {} } }: Pick<History, 'events' | 'header'>,
): Promise<(ChipEvent & ChipOutcome)[]> => {
  const chips = [...chipsIn(events).values()]
  const taken = new Set(chips.flatMap(({ row, status }) => (status && status !== 'failed' ? [row] : [])))
  const outcomes: (ChipEvent & ChipOutcome)[] = []
  for (const chip of chips) {
    const isOthers = chip.row !== undefined && taken.has(chip.row)
    // A chip that gets new keys is registered before, too.
    const mayBeDone = (chip.status ?? 'failed') === 'failed' && !isOthers && settings.rekey !== 'true'
    // A chip that failed may have been recovered since, or be a chip of another group that was put down by mistake.
    const group = chip.status === 'failed' ? settings.chipGroup : undefined
    const isDone = mayBeDone && (await isProvisioned(ctx, chip.uid, Number(settings.keySet), group))
    outcomes.push(isDone ? { ...chip, status: 'provisioned', error: undefined } : chip)
  }
  return outcomes
}

export const box: WholeKind = {
  name: 'nfc provision',
  isEvent: shape<ChipEvent>({
    uid: isText,
    row: orAbsent(isNumber),
    status: orAbsent(isStatus),
    error: orAbsent(isText),
  }),
  // The end line counts only the last run, and counts a chip twice that was presented twice.
  counts: (events) =>
    countResults([...chipsIn(events).values()].flatMap(({ status }) => (status ? [{ status }] : []))),
  resume: async (ctx, history, options) => {
    ctx.needAdmin()
    const [{ resumeBox }, { lines }] = await Promise.all([
      import('../../nfc/box.ts'),
      import('../../nfc/box-view.ts'),
    ])
    return resumeBox(ctx, history, { ...options, view: lines(ctx) })
  },
  /** Chips that were not presented yet have no line. */
  report: async (ctx, history, failedAlone) => {
    // The daemon knows how a chip ended that was finished later. Without one, it is pending.
    const chips = await chipsOf(ctx, history).catch(() => [...chipsIn(history.events).values()])
    for (const { row, uid, status = 'pending', error } of chips) {
      if (failedAlone && status !== 'failed') continue
      const words = [...(row === undefined ? [] : [`row ${row}`]), bothForms(uid), status]
      await ctx.io.line({ row, uid, status, error }, () =>
        clean([...words, ...(error === undefined ? [] : [error])].join('  ')),
      )
    }
  },
  chips: chipsOf,
  undo: {
    refusal: 'A batch cannot undo the setup of chips.',
    advice: () => 'Reset them one by one on the reader: tapchip nfc reset',
  },
}
