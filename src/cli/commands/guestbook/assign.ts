import { sheetFlags, sheetOptions } from '../../batch/input/flags.ts'
import { Problems } from '../../batch/input/problems.ts'
import { readSheet } from '../../batch/input/sheet.ts'
import { openSource } from '../../batch/input/source.ts'
import { UidColumn } from '../../batch/input/uid-column.ts'
import { ApiError } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { type ArgumentSpec, argument, text, type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { counted, formatNumber } from '../../io/text.ts'
import { bothForms, uidOnWire } from '../../uid.ts'
import { chipsOf } from '../chip-groups/group.ts'
import { chipUid } from '../chip-handle.ts'
import { readEventId } from './event.ts'

const uidArguments: ArgumentSpec<readonly string[]> = {
  written: '[uids...]',
  description: 'The chips: their UIDs in decimal or hex, or their labels',
  read: (raw) => (Array.isArray(raw) ? raw.map(String) : []),
}

const flags = {
  ...sheetFlags,
  chipGroup: text('--chip-group <name|id>', 'All chips of a group', 'chip-group'),
  yes,
}

export const assign = defineCommand({
  name: 'assign',
  summary: 'Assign an event to chips, whose taps then give codes for it',
  description:
    'Assign an event to chips: their taps give codes that mint its token. It is assigned to all of the chips or none; ' +
    'a file has the column uid. If it is already assigned, nothing changes.',
  examples: [
    'guestbook assign 4 04:98:93:CA:AA:11:90 04:DE:5F:1E:AC:C0:40',
    'guestbook assign 4 --file doors.csv --ignore-columns',
    'guestbook assign 4 --chip-group Doors',
  ],
  args: { event: argument('event', 'The id of the event: tapchip guestbook list'), uids: uidArguments },
  options: flags,
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const guestbookEventId = readEventId(args.event)
    const uids = await chooseChips(ctx, args.uids, options)
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
    const words =
      unchanged > 0 ? `${formatNumber(assigned)} of ${chips}, ${formatNumber(unchanged)} unchanged` : chips
    await ctx.io.one(done, () => ({ Event: guestbookEventId, Assigned: words }))
    ctx.io.hint("See what a chip's next tap gives: tapchip refs show REF, tapchip otps show CODE")
  },
})

/** A person may have written the UIDs in hex. */
const addHex = (message: string): string =>
  message.replace(/\b[1-9]\d{14,16}\b(?! \()/g, (uid) => bothForms(uid))

const chooseChips = async (
  ctx: CliContext,
  typed: readonly string[],
  options: Values<typeof flags>,
): Promise<readonly string[]> => {
  const { file, chipGroup } = options
  const ways = [typed.length > 0, file !== undefined, chipGroup !== undefined].filter(Boolean).length
  if (ways !== 1)
    throw new UsageError(
      `${ways === 0 ? 'Specify which chips' : 'Specify which chips in one way'}: their UIDs, --file or --chip-group.`,
    )
  if (typed.length > 0) {
    const uids: string[] = []
    for (const text of typed) uids.push(await chipUid(ctx, text))
    return uids
  }
  if (file !== undefined) return uidsOfFile(ctx, file, options)
  const chips = await chipsOf(ctx, chipGroup ?? '')
  if (chips.length === 0) throw new UsageError(`The chip group ${chipGroup ?? ''} has no chips.`)
  return chips.map(({ uid }) => uid)
}

const uidsOfFile = async (
  ctx: CliContext,
  file: string,
  options: Values<typeof flags>,
): Promise<string[]> => {
  const source = openSource(ctx.system, file)
  const problems = new Problems()
  const column = new UidColumn(problems)
  const uids: string[] = []
  await readSheet(source, sheetOptions(options, { columns: ['uid'], required: ['uid'] }), problems, {
    row: (row, [cell]) => {
      if (!cell) return problems.add(row, 'uid', 'is missing')
      const uid = column.read(row, cell)
      if (uid !== undefined) uids.push(uid)
    },
  })
  column.finish(options.yes)
  problems.refuse(source.name)
  if (uids.length === 0) throw new UsageError(`${source.name} has no chips. Nothing was written.`)
  return uids
}
