import { isInstant } from '../../../values/date.ts'
import { refuseRunFlags, wantsBatch } from '../../batch/input/flags.ts'
import { badgeAssignment } from '../../batch/kinds/badge-assignments.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { type OptionSpec, optionalArgument, text, type Values } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { chipOnWire } from '../chip-handle.ts'
import { assertOneWay, eventChipFlags, runEventChips } from '../event-chips.ts'
import { hasTokenOptions, readToken, tokenFlags } from '../token.ts'
import { readEventId } from './event.ts'

const instant = (flags: string, description: string): OptionSpec<string | undefined> => ({
  flags,
  description: `${description}, in UTC, as 2026-12-31T18:00:00Z`,
  read: (raw) => {
    if (typeof raw !== 'string' || isInstant(raw)) return typeof raw === 'string' ? raw : undefined
    throw new UsageError(
      `${flags.split(' ')[0]} must be a time in UTC, as 2026-12-31T18:00:00Z, not "${raw}".`,
    )
  },
})

const flags = {
  ...eventChipFlags,
  ...tokenFlags,
  startsAt: instant('--starts-at <time>', 'Shown from then on'),
  endsAt: instant('--ends-at <time>', 'Shown until then'),
  title: text('--title <text>', 'Its title on the tap page'),
  description: text('--description <text>', 'Its description on the tap page'),
}
type Options = Values<typeof flags>

export const assign = defineCommand({
  name: 'assign',
  summary: 'Assign a badge event to chips or a token, whose taps then give codes for it',
  description:
    'Assign a badge event to chips, or to a token and so to every chip of it: taps show it and give codes for it, only ' +
    'from --starts-at and until --ends-at if you set them. Assigning it again replaces its window and texts. A file has ' +
    'the column uid and, as needed, startsAt, endsAt, title and description; without an event, also badgeEventId.',
  examples: [
    'badge-events assign 4 --uid 04:98:93:CA:AA:11:90',
    'badge-events assign 4 --uid 04:98:93:CA:AA:11:90 --starts-at 2026-12-31T18:00:00Z --title "New Year"',
    'badge-events assign 4 --chip-group Doors --until "2026-11-29T20:00 Europe/Rome"',
    'badge-events assign 4 --contract-address 0x5FbD…0aa3 --chain-id 31337 --token-id 7',
    'badge-events assign --file doors.csv',
  ],
  args: { event: optionalArgument('event', 'The id of the event: tapchip badge-events list') },
  options: flags,
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const { file, startsAt, endsAt, title, description } = options
    const content = { startsAt, endsAt, title, description }
    if (file !== undefined && args.event === undefined) {
      if (Object.values(content).some((flag) => flag !== undefined) || hasTokenOptions(options))
        throw new UsageError(
          '--file already says which event each chip gets: leave out the flags that name an event.',
        )
      assertOneWay(options)
      return runSheet(ctx, badgeAssignment(), file, options)
    }
    const event = readEventId(
      await ctx.prompts.text(args.event, { flag: 'The id of the event', message: 'Event' }),
    )
    const isSelected = options.chipGroup !== undefined || options.label.length + options.where.length > 0
    if (hasTokenOptions(options) || (file === undefined && !isSelected && !wantsBatch(options))) {
      if (file !== undefined || isSelected) throw new UsageError('Specify either chips or a token, not both.')
      refuseRunFlags(options)
      await assignOne(ctx, event, options)
      return exitCodes.done
    }
    assertOneWay(options)
    if (file !== undefined) return runSheet(ctx, badgeAssignment(event, content), file, options)
    return runEventChips(ctx, badgeAssignment(event), options, {
      rowOf: (uid, row) => ({ row, uid, badgeEventId: event, ...content }),
      question: (chips) => `Assign event ${event} to ${chips}?`,
    })
  },
})

const assignOne = async (ctx: CliContext, poapEventId: number, options: Options): Promise<void> => {
  const { uid, startsAt, endsAt, title, description } = options
  if (uid !== undefined && hasTokenOptions(options))
    throw new UsageError('Specify either a chip (--uid) or a token, not both.')
  const byToken = hasTokenOptions(options)
  const content = byToken
    ? undefined
    : await ctx.prompts.text(uid, {
        flag: '--uid (or --contract-address, --chain-id and --token-id, or --file)',
        message: 'UID of the chip',
      })
  const to = content === undefined ? readToken(options) : { tagUID: await chipOnWire(ctx, content) }
  const { success, unchanged } = await ctx.call('POST /badge-events/assign', {
    query: { report: true },
    body: { poapEventId, ...to, startsAt, endsAt, title, description },
  })
  const done = { success, ...(unchanged ? { status: 'unchanged' } : {}) }
  await ctx.io.one(done, () => ({
    Event: poapEventId,
    [unchanged ? 'Unchanged' : 'Assigned to']: content ?? `token ${options.tokenId}`,
  }))
  ctx.io.hint(
    'See what the next tap gives: tapchip refs show REF. See how many codes are left: tapchip badge-events list',
  )
}
