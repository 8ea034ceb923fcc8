import { isDay } from '../../values/date.ts'
import { refusedOutcomes } from '../../values/tap-outcomes.ts'
import { endOfDay, isTimeZone, startOfDay } from '../../values/time-zone.ts'
import type { AnswerOf, ElementOf } from '../client/types.ts'
import { defineCommand } from '../command/define.ts'
import { choice, flag, integer, moment, readTime, team, text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { addBars } from '../io/bars.ts'
import type { Columns } from '../io/lists.ts'
import { barPlot, columnPlot, type DrawnPlotArea, type PlotPart } from '../io/plot.ts'
import { counted, formatNumber, shown, sparkline } from '../io/text.ts'
import { colons } from '../uid.ts'
import { chipOnWire } from './chip-handle.ts'
import { fetchPage, pageFlags } from './paging.ts'

const tapColumns: Columns<ElementOf<'GET /admin/taps'>> = {
  AT: (tap) => tap.at,
  OUTCOME: (tap) => tap.outcome,
  UID: (tap) => tap.uid,
  HEX: (tap) => colons(tap.uid),
  COUNTER: (tap) => tap.counter,
  'KEY SET': (tap) => tap.keySet,
  VIA: (tap) => tap.via,
  TEAM: (tap) => tap.team,
  SEAL: (tap) => tap.tamper,
  DATA: (tap) => tap.fileData,
}

const outcomes = ['valid', 'refused', ...refusedOutcomes] as const

const list = defineCommand({
  name: 'list',
  summary: 'List taps, newest first, the refused ones with their reason',
  examples: ['taps list', 'taps list --outcome refused --since 24h', 'taps list --uid 04DE5F1EACC040 --json'],
  options: {
    uid: text('--uid <uid>', 'Only this chip: its UID, or its label'),
    outcome: choice('--outcome <outcome>', 'Only this outcome', outcomes),
    since: moment('--since <when>', 'Only from then on', 'ago'),
    ...pageFlags('tap'),
    team,
  },
  run: async (ctx, { options }) => {
    const { uid, since, limit, ...filter } = options
    const query = {
      ...filter,
      since: since?.(ctx.now()),
      uid: uid === undefined ? undefined : await chipOnWire(ctx, uid, '--uid'),
    }
    const { page, hintNextPage } = await fetchPage(ctx, limit, (limit) =>
      ctx.call('GET /admin/taps', { query: { ...query, limit } }),
    )
    await ctx.io.list(page, tapColumns, 'No taps.')
    hintNextPage()
  },
})

type Stats = AnswerOf<'GET /admin/taps/stats'>
type Count = Stats['rows'][number]

const units = ['hour', 'day', 'group', 'item', 'outcome'] as const
type Unit = (typeof units)[number]

const stats = defineCommand({
  name: 'stats',
  summary: 'Count taps by hour, day, chip group, item or outcome',
  description:
    'Count taps by hour, day, chip group, item or outcome. Hours and days without taps are listed too. Groups and items ' +
    'are those that the chips have now. Without --since: the last 24 hours by hour, else the last 30 days.',
  examples: [
    'taps stats --by day',
    'taps stats --by hour --since 2026-11-22 --time-zone local',
    'taps stats --by group --since 7d --outcome refused',
    'taps stats --by hour --plot',
    'taps stats --by hour --since 7d --csv > taps.csv',
  ],
  options: {
    by: choice('--by <unit>', 'What to count by; the default is day', units),
    since: text('--since <when>', 'Only from then on: a date, an ISO 8601 time, or 30m, 2h, 7d ago'),
    until: text('--until <when>', 'Only before then, in the same forms; a date includes that day'),
    chipGroup: text('--chip-group <name|id>', 'Only chips of this group', 'chip-group'),
    outcome: choice('--outcome <outcome>', 'Only this outcome', outcomes),
    timeZone: text('--time-zone <zone>', 'Where days and hours begin: Europe/Berlin, local (default: UTC)'),
    plot: flag('--plot', 'Draw a plot instead of the table'),
    includeSetup: flag('--include-setup', 'Count the taps by which chips were set up or checked as well'),
    limit: integer(
      '--limit <n>',
      'At most this many groups or items, those with the most taps (default: 100)',
      [1, 1000],
    ),
    team,
  },
  run: async (ctx, { options }) => {
    const { by: chosen, since, until, timeZone: zone, plot, ...filter } = options
    const by = chosen ?? 'day'
    const timeZone = zoneNamed(zone)
    const found = await ctx.call('GET /admin/taps/stats', {
      query: {
        ...{ ...filter, by, timeZone },
        since: since && momentOf('--since', since, (date) => startOfDay(date, timeZone), ctx),
        until: until && momentOf('--until', until, (date) => endOfDay(date, timeZone), ctx),
      },
    })
    const { drawing } = ctx.io
    await (plot && drawing ? draw(ctx, found, by, drawing) : print(ctx, found, by))
    noteLimits(ctx, found, by)
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
  await io.list(
    rows,
    isTime || sum === 0 ? columns : addBars(ctx, rows, columns, ({ taps }) => taps),
    nothing(found),
  )
  if (sum === 0 && rows.length > 0) io.note(nothing(found))
  const { plot } = io
  if (isTime && plot && sum > 0) {
    const [first, last, max] = [rows[0], rows.at(-1), Math.max(...counts)]
    await io.raw(`\n${sparkline(counts, plot)}\n`)
    await io.raw(
      `${first?.hour ?? first?.day} to ${last?.hour ?? last?.day}, at most ${formatNumber(max)} per ${by}\n`,
    )
    await io.flush()
  }
}

const draw = async ({ io }: CliContext, found: Stats, by: Unit, area: DrawnPlotArea): Promise<void> => {
  const { rows } = found
  if (rows.every(({ taps }) => taps === 0)) return io.note(nothing(found))
  const [first, last] = [rows[0], rows.at(-1)]
  const parts: PlotPart[] = [
    { name: 'valid', color: 'green', values: rows.map(({ valid = 0 }) => valid) },
    { name: 'refused', color: 'red', values: rows.map(({ refused = 0 }) => refused) },
  ]
  const nameOf = (row: Count) => shown(by === 'outcome' ? row.outcome : (row.chipGroup ?? row.item))
  const lines =
    by === 'hour' || by === 'day'
      ? columnPlot(
          parts,
          { first: shown(first?.hour ?? first?.day), last: shown(last?.hour ?? last?.day), unit: by },
          area,
        )
      : barPlot(
          rows.map((row) => ({ name: nameOf(row), value: row.taps })),
          area,
        )
  await io.drawn(lines)
}

const noteLimits = ({ io }: CliContext, found: Stats, by: Unit): void => {
  if (found.more > 0)
    io.note(`${counted(found.more, `more ${by}`)} with fewer taps: list up to 1,000 with --limit`)
  const { taps, refused } = found.keptSince
  if (taps !== null && taps > found.since) io.note(`The oldest tap that is kept is from ${taps}.`)
  else if (refused !== null && refused > found.since)
    io.note(
      `Refused taps are kept since ${refused} only: the daemon deletes the oldest ones when there are too many.`,
    )
}

const nothing = ({ since, until, newest }: Stats): string =>
  newest === null
    ? 'There are no taps yet. When someone taps a chip, it is counted here; watch with: tapchip taps follow'
    : `No taps from ${since} to ${until}. The newest tap is from ${newest}: choose the span with --since and --until.`

const follow = defineCommand({
  name: 'follow',
  summary: 'Show taps as they happen, until interrupted',
  examples: ['taps follow', 'taps follow --json | jq -r \'select(.outcome != "valid")\''],
  options: {
    uid: text('--uid <uid>', 'Only this chip: its UID, or its label'),
    count: integer('--count <n>', 'Stop after this many', [1, Number.MAX_SAFE_INTEGER]),
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const client = await ctx.client()
    const uid = options.uid === undefined ? undefined : await chipOnWire(ctx, options.uid, '--uid')
    const ended = new AbortController()
    const taps = client.stream('GET /admin/taps/follow', {
      query: { team: options.team, uid },
      signal: ended.signal,
    })
    ctx.io.note('Waiting for taps. Press Ctrl-C to stop.')
    let remaining = options.count ?? Number.POSITIVE_INFINITY
    for await (const tap of taps) {
      await ctx.io.line(tap, () =>
        Object.values(tapColumns)
          .map((read) => shown(read(tap)))
          .join('\t'),
      )
      remaining -= 1
      if (remaining <= 0) break
    }
    ended.abort()
  },
})

const simulate = defineCommand({
  name: 'simulate',
  summary: 'Create the URLs that a chip would show next',
  description:
    "Create the URLs that a chip would show at its next taps. This advances the chip's counter, so it works on the " +
    'chips of an --ephemeral daemon and on chips imported as simulated, nowhere else.',
  examples: [
    'taps simulate --uid 04:DE:5F:1E:AC:C0:40',
    'taps simulate --uid 04DE5F1EACC040 --count 3 --json',
  ],
  options: {
    uid: text('--uid <uid>', 'The chip: its UID in decimal or hex, or its label'),
    count: integer('--count <n>', 'How many taps (default: 1)', [1, 10_000]),
  },
  run: async (ctx, { options }) => {
    const uid = await chipOnWire(
      ctx,
      await ctx.prompts.text(options.uid, { flag: '--uid', message: 'UID of the chip' }),
      '--uid',
    )
    const taps = await ctx.call('POST /admin/chips/:uid/simulate', {
      params: { uid },
      body: { count: options.count ?? 1 },
    })
    for (const tap of taps) await ctx.io.line(tap, () => tap.url)
    ctx.io.hint("Open it in a browser, or verify the tap here: tapchip chips find 'URL'. It works once.")
  },
})

export const verbs = [list, stats, follow, simulate]
