import { badgeUnassignment } from '../../batch/kinds/badge-assignments.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { optionalArgument } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { assertOneWay, eventChipFlags, runEventChips } from '../event-chips.ts'
import { readEventId } from './event.ts'

export const unassign = defineCommand({
  name: 'unassign',
  summary: 'Take a badge event from chips, whose taps then give no codes for it',
  description:
    'Take a badge event from chips: their taps no longer show it, and unused codes for it become invalid. Badges that were ' +
    'minted stay. An undo assigns it again with its window and texts. A file has the column uid; without an event, also ' +
    'badgeEventId.',
  examples: [
    'badge-events unassign 4 --chip-group Doors',
    'badge-events unassign 4 --uid 04:98:93:CA:AA:11:90',
    'badge-events unassign --file doors.csv --dry-run',
  ],
  args: { event: optionalArgument('event', 'The id of the event: tapchip badge-events list') },
  options: eventChipFlags,
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const { file } = options
    assertOneWay(options)
    const event = args.event === undefined ? undefined : readEventId(args.event)
    if (file !== undefined) return runSheet(ctx, badgeUnassignment(event), file, options)
    if (event === undefined)
      throw new UsageError('Specify the event: its id, as tapchip badge-events list shows it.')
    return runEventChips(ctx, badgeUnassignment(event), options, {
      rowOf: (uid, row) => ({ row, uid, badgeEventId: event }),
      question: (chips) => `Take event ${event} from ${chips}?`,
    })
  },
})
