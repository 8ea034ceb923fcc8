import { isDay } from '../../../values/date.ts'
import { endOfDay, isTimeZone, startOfDay } from '../../../values/time-zone.ts'
import type { AnswerOf } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, csv, integer, readTime, team, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bar, sparkline } from '../../io/plot.ts'
import type { Columns } from '../../io/table.ts'
import { counted, formatNumber, shown, widthOf } from '../../io/text.ts'
import { outcomes } from './list.ts'

type Stats = AnswerOf<'GET /admin/taps/stats'>
type Count = Stats['rows'][number]

const units = ['hour', 'day', 'group', 'item', 'outcome'] as const
type Unit = (typeof units)[number]

export const stats = defineCommand({
  name: 'stats',
  summary: 'Count taps by hour, day, chip group, item or outcome',
  description:
    'Count taps by hour, day, chip group, item or outcome. Hours and days without taps are listed too. Groups and items ' +
    'are those that the chips have now. Without --since: the last 24 hours by hour, else the last 30 days.',
  examples: [
    'taps stats --by day',
    'taps stats --by hour --since 2026-11-22 --time-zone local',
    'taps stats --by group --since 7d --outcome refused',
    'taps stats --by hour --since 7d --csv > taps.csv',
  ],
  options: {
    by: choice('--by <unit>', 'What to count by; the default is day', units),
    since: text('--since <when>', 'Only from then on: a date, an ISO 8601 time, or 30m, 2h, 7d ago'),
    until: text('--until <when>', 'Only before then, in the same forms; a date includes that day'),
    chipGroup: text('--chip-group <name|id>', 'Only chips of this group', 'chip-group'),
    outcome: choice('--outcome <outcome>', 'Only this outcome', outcomes),
    timeZone: text('--time-zone <zone>', 'Where days and hours begin: Europe/Berlin, local (default: UTC)'),
    limit: integer(
      '--limit <n>',
      'At most this many groups or items, those with the most taps (default: 100)',
      [1, 1000],
    ),
    csv,
    team,
  },
  run: async (ctx, { options }) => {
    const { csv: _, by: chosen, since, until, timeZone: zone, ...filter } = options
    const by = chosen ?? 'day'
    const timeZone = zoneNamed(zone)
    const found = await ctx.call('GET /admin/taps/stats', {
      query: {
        ...{ ...filter, by, timeZone },
        since: since && momentOf('--since', since, (date) => startOfDay(date, timeZone), ctx),
        until: until && momentOf('--until', until, (date) => endOfDay(date, timeZone), ctx),
      },
    })
    await print(ctx, found, by)
  },
})

const zoneNamed = (zoneName = 'UTC'): string => {
  const zone = zoneName === 'local' ? Intl.DateTimeFormat().resolvedOptions().timeZone : zoneName
  if (isTimeZone(zone)) return zone
  throw new UsageError(
    `--time-zone: there is no time zone "${zoneName}".`,
    'Use a name like Europe/Berlin, or: local, UTC',
  )
}

/** A date is a day of the time zone. @throws UsageError */
const momentOf = (flag: string, text: string, ofDay: (date: string) => number, ctx: CliContext): string =>
  isDay(text) ? new Date(ofDay(text)).toISOString() : readTime(flag, text, 'ago')(ctx.now())

const columnsOf = (by: Unit): Columns<Count> => {
  const counts = { TAPS: (row: Count) => row.taps }
  const both = { ...counts, VALID: (row: Count) => row.valid, REFUSED: (row: Count) => row.refused }
  if (by === 'hour') return { HOUR: (row) => row.hour, ...both }
  if (by === 'day') return { DAY: (row) => row.day, ...both }
  if (by === 'outcome') return { OUTCOME: (row) => row.outcome, ...counts }
  const team = { TEAM: (row: Count) => row.team }
  if (by === 'group') return { 'CHIP GROUP': (row) => row.chipGroup, ...both, ...team }
  return { ITEM: (row) => row.item, ...both, ...team }
}

const print = async (ctx: CliContext, found: Stats, by: Unit): Promise<void> => {
  const { io } = ctx
  const { rows } = found
  const counts = rows.map(({ taps }) => taps)
  const sum = counts.reduce((all, taps) => all + taps, 0)
  const isTime = by === 'hour' || by === 'day'
  const columns = columnsOf(by)
  await io.list(rows, isTime || sum === 0 ? columns : withBars(ctx, rows, columns), nothing(found))
  if (sum === 0 && rows.length > 0) io.note(nothing(found))
  const { plot } = io
  if (isTime && plot && sum > 0) {
    const [first, last, most] = [rows[0], rows.at(-1), Math.max(...counts)]
    await io.raw(`\n${sparkline(counts, plot)}\n`)
    await io.raw(
      `${first?.hour ?? first?.day} to ${last?.hour ?? last?.day}, at most ${formatNumber(most)} per ${by}\n`,
    )
    await io.flush()
  }
  if (found.more > 0)
    io.note(`${counted(found.more, `more ${by}`)} with fewer taps: list up to 1,000 with --limit`)
  const { taps, refused } = found.keptSince
  if (taps !== null && taps > found.since) io.note(`The oldest tap that is kept is from ${taps}.`)
  else if (refused !== null && refused > found.since)
    io.note(
      `Refused taps are kept since ${refused} only: the daemon deletes the oldest ones when there are too many.`,
    )
}

/** On a terminal, bars take the space that the columns leave. */
const withBars = (ctx: CliContext, rows: readonly Count[], columns: Columns<Count>): Columns<Count> => {
  const { plot } = ctx.io
  if (!plot) return columns
  const taken = Object.entries(columns).map(
    ([name, read]) => 2 + Math.max(widthOf(name), ...rows.map((row) => widthOf(shown(read(row))))),
  )
  const width = Math.min(40, plot.width - taken.reduce((sum, width) => sum + width, 0))
  const most = Math.max(...rows.map(({ taps }) => taps))
  // An empty value would be shown as a dash.
  return width < 8 ? columns : { ...columns, ' ': ({ taps }) => bar(taps, most, { ...plot, width }) || ' ' }
}

const nothing = ({ since, until, newest }: Stats): string =>
  newest === null
    ? 'There are no taps yet. When someone taps a chip, it is counted here; watch with: tapchip taps follow'
    : `No taps from ${since} to ${until}. The newest tap is from ${newest}: choose the span with --since and --until.`
