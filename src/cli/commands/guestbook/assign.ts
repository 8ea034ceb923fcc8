import { uidOnWire } from '../../../nfc/uid.ts'
import { refuseRunFlags } from '../../batch/input/flags.ts'
import { guestbookAssignment } from '../../batch/kinds/guestbook-assignments.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { ApiError } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { type ArgumentSpec, argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { counted, formatNumber } from '../../io/text.ts'
import { bothForms } from '../../uid.ts'
import { chipUid } from '../chip-handle.ts'
import { assertOneWay, eventChipFlags, runEventChips } from '../event-chips.ts'
import { readEventId } from './event.ts'

const uidArguments: ArgumentSpec<readonly string[]> = {
  written: '[uids...]',
  description: 'The chips: their UIDs in decimal or hex, or their labels',
  read: (raw) => (Array.isArray(raw) ? raw.map(String) : []),
}

export const assign = defineCommand({
  name: 'assign',
  summary: 'Assign an event to chips, whose taps then give codes for it',
  description:
    'Assign an event to chips: their taps give codes that mint its token. Chips that are named after the event get it all ' +
    'or none; those that flags select, or a file with the column uid, are a batch. If it is already assigned, nothing ' +
    'changes.',
  examples: [
    'guestbook assign 4 04:98:93:CA:AA:11:90 04:DE:5F:1E:AC:C0:40',
    'guestbook assign 4 --file doors.csv --ignore-columns',
    'guestbook assign 4 --chip-group Doors',
  ],
  args: { event: argument('event', 'The id of the event: tapchip guestbook list'), uids: uidArguments },
  options: eventChipFlags,
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const event = readEventId(args.event)
    if (args.uids.length > 0) {
      const { uid, file, chipGroup, label, where } = options
      if ((uid ?? file ?? chipGroup) !== undefined || label.length + where.length > 0)
        throw new UsageError('Specify which chips in one way: their UIDs, or flags.')
      refuseRunFlags(options)
      await assignAll(ctx, event, args.uids)
      return exitCodes.done
    }
    assertOneWay(options)
    const kind = guestbookAssignment(event)
    if (options.file !== undefined) return runSheet(ctx, kind, options.file, options)
    return runEventChips(ctx, kind, options, {
      rowOf: (uid, row) => ({ row, uid }),
      question: (chips) => `Assign event ${event} to ${chips}?`,
    })
  },
})

/** In one request, all or none. */
const assignAll = async (
  ctx: CliContext,
  guestbookEventId: number,
  typed: readonly string[],
): Promise<void> => {
  const uids: string[] = []
  for (const text of typed) uids.push(await chipUid(ctx, text))
  const tagUIDs = uids.map(uidOnWire)
  const { success, assigned = uids.length } = await ctx
    .call('POST /events/assign/legacy', { body: { tagUIDs, guestbookEventId }, query: { report: true } })
    .catch((error: unknown) => {
      if (error instanceof ApiError) error.message = addHex(error.message)
      throw error
    })
  // A chip may be named twice.
  const unchanged = new Set(uids).size - assigned
  const done = { success, ...(unchanged > 0 ? { assigned, unchanged } : {}) }
  const chips = counted(new Set(uids).size, 'chip')
  const messages =
    unchanged > 0 ? `${formatNumber(assigned)} of ${chips}, ${formatNumber(unchanged)} unchanged` : chips
  await ctx.io.one(done, () => ({ Event: guestbookEventId, Assigned: messages }))
  ctx.io.hint("See what a chip's next tap gives: tapchip refs show REF, tapchip otps show CODE")
}

/** A person may have written the UIDs in hex. */
const addHex = (message: string): string =>
  message.replace(/\b[1-9]\d{14,16}\b(?! \()/g, (uid) => bothForms(uid))
