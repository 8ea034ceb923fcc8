import { resolve } from 'node:path'
import { isDay } from '../../../values/date.ts'
import { batchFlags, formerConcurrencyFlag, refuseRunFlags, runFlags } from '../../batch/input/flags.ts'
import { badgeEventCreation } from '../../batch/kinds/badge-events.ts'
import { eventForm, eventProblems, imageJudge } from '../../batch/kinds/badge-form.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { exitCodes, UsageError } from '../../errors.ts'
import { idempotencyFlag, sendOnce } from '../sending.ts'

const eventFlags = {
  name: text('--name <name>', 'Its name; with --file, a name for the batch'),
  description: text('--description <text>', 'Its description'),
  city: text('--city <city>', 'Its city'),
  country: text('--country <country>', 'Its country'),
  startDate: text('--start-date <day>', 'Its first day, YYYY-MM-DD (in UTC)'),
  endDate: text('--end-date <day>', 'Its last day (default: the first)'),
  expiryDate: text(
    '--expiry-date <day>',
    'The last day on which badges can be claimed (default: a month later)',
  ),
  eventURL: text('--event-url <url>', 'The website of the event'),
  requestedCodes: text('--requested-codes <n>', 'How many badges there are'),
  maxPerRecipient: text('--max-per-recipient <n>', 'How many of them one recipient may have (default: 1)'),
  image: text('--image <file>', 'The badge: a PNG or GIF under 4 MB', 'file'),
  virtualEvent: flag('--virtual', 'It takes place online'),
  privateEvent: flag('--private', "Hide it on the provider's pages"),
}

const flags = {
  ...runFlags,
  ...eventFlags,
  ...idempotencyFlag,
  ...batchFlags,
  ...formerConcurrencyFlag,
  yes,
}

export const create = defineCommand({
  name: 'create',
  summary: 'Create a badge event, or many from a file',
  description:
    'Create a badge event by flags; on a terminal, you are prompted for missing values. Many from a file with the columns name, ' +
    'description, city, country, startDate, endDate, expiryDate, eventURL, virtualEvent, privateEvent, requestedCodes, ' +
    'maxPerRecipient and image (a path relative to the file). The whole file is checked before the first event is created.',
  examples: [
    'badge-events create --name Opening --start-date 2026-12-31 --requested-codes 100 --image badge.png',
    'badge-events create --file events.csv --dry-run',
    'badge-events create --file events.csv --failed again.csv --json',
    'badge-events create --file events.csv --name spring-events --detach',
  ],
  options: flags,
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const { file } = options
    if (file === undefined) {
      refuseRunFlags({ ...options, name: undefined })
      await createOne(ctx, options)
      return exitCodes.done
    }
    const { name: _, ...others } = eventFlags
    const names = Object.keys(others) as (keyof typeof others)[]
    if (
      names.some((name) => options[name] !== undefined && options[name] !== false) ||
      options.idempotencyKey
    )
      throw new UsageError('--file already says what the events are: leave out the flags that also say it.')
    return runSheet(ctx, badgeEventCreation, file, { ...options, name: runFlags.name.read(options.name) })
  },
})

type Options = Values<typeof flags>

const createOne = async (ctx: CliContext, options: Options): Promise<void> => {
  const cells = await cellsOf(ctx, options)
  const problems = [...eventProblems(cells, imageJudge())].map(
    ({ column, why }) => `${flagOf(column)}: ${why}`,
  )
  if (problems.length > 0) throw new UsageError(`${problems.join('\n')}\nNothing was created.`)
  const { image, ...fields } = cells
  await ctx.beforeChange(`POST /badge-events ${JSON.stringify({ ...fields, image })}`)
  const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
    ctx.call('POST /badge-events', { upload: eventForm(cells), idempotencyKey }),
  )
  await ctx.io.one(made, ({ id, poapResponse }) => ({
    Id: id,
    Name: poapResponse.name,
    'Id at the provider': poapResponse.id,
    Image: poapResponse.image_url,
  }))
  ctx.io.hint(`Let a chip give codes for it: tapchip badge-events assign ${made.id} --uid UID`)
}

const cellsOf = async (ctx: CliContext, options: Options): Promise<Record<string, string>> => {
  const ask = (name: 'name' | 'startDate' | 'requestedCodes' | 'image', message: string) =>
    ctx.prompts.text(options[name], { flag: flagOf(name), message })
  const name = await ask('name', 'Name of the event')
  const startDate = await ask('startDate', 'First day, YYYY-MM-DD')
  const endDate = options.endDate ?? startDate
  const requestedCodes = await ask('requestedCodes', 'How many badges')
  const image = await ask('image', 'File of the image')
  const { description, city, country, eventURL, maxPerRecipient } = options
  const filled = Object.entries({ description, city, country, eventURL, maxPerRecipient }).flatMap(
    ([field, value]) => (value === undefined ? [] : [[field, value]]),
  )
  return {
    name,
    ...Object.fromEntries(filled),
    startDate,
    endDate,
    expiryDate: options.expiryDate ?? monthAfter(endDate),
    virtualEvent: String(options.virtualEvent),
    privateEvent: String(options.privateEvent),
    requestedCodes,
    image: resolve(ctx.system.cwd, image),
  }
}

/** Thirty days later; an invalid day is returned as it is, and refused later. */
const monthAfter = (day: string): string =>
  isDay(day) ? new Date(Date.parse(day) + 30 * 86_400_000).toISOString().slice(0, 10) : day

const flagOf = (column: string): string =>
  column === 'eventURL'
    ? '--event-url'
    : `--${column.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
