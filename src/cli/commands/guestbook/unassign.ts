import { guestbookUnassignment } from '../../batch/kinds/guestbook-assignments.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'
import { assertOneWay, eventChipFlags, runEventChips } from '../event-chips.ts'
import { readEventId } from './event.ts'

export const unassign = defineCommand({
  name: 'unassign',
  summary: 'Take an event from chips, whose taps then give no codes for it',
  description:
    'Take an event from chips: unused codes for it become invalid. Tokens that were minted stay. A file has the column uid.',
  examples: ['guestbook unassign 4 --chip-group Doors', 'guestbook unassign 4 --file doors.csv --dry-run'],
  args: { event: argument('event', 'The id of the event: tapchip guestbook list') },
  options: eventChipFlags,
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const event = readEventId(args.event)
    assertOneWay(options)
    const kind = guestbookUnassignment(event)
    if (options.file !== undefined) return runSheet(ctx, kind, options.file, options)
    return runEventChips(ctx, kind, options, {
      rowOf: (uid, row) => ({ row, uid }),
      question: (chips) => `Take event ${event} from ${chips}?`,
    })
  },
})
