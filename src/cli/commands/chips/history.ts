import type { AnswerOf } from '../../client/types.ts'
import { flag, integer, type Moment, moment } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { clean, formatNumber } from '../../io/text.ts'
import { fieldsOfChip } from './chip.ts'

export const historyFlags = {
  history: flag('--history', 'Also what happened to it: taps, changes, set-up, transfers, and who did it'),
  limit: integer('--limit <n>', 'With --history: at most this many, up to 1000 (default: 100)', [1, 1000]),
  before: moment('--before <when>', 'With --history: only what is older', 'ago'),
}

type Entry = AnswerOf<'GET /admin/chips/:uid/history'>[number]

export const printHistory = async (
  ctx: CliContext,
  params: { readonly uid: string },
  chip: AnswerOf<'GET /admin/chips/:uid'>,
  { limit = 100, before }: { readonly limit: number | undefined; readonly before: Moment | undefined },
): Promise<void> => {
  const history = await ctx.call('GET /admin/chips/:uid/history', {
    params,
    query: { limit, before: before?.(ctx.now()) },
  })
  await ctx.io.one({ ...chip, history }, fieldsOfChip)
  if (!ctx.flags.json && !ctx.flags.csv && !ctx.flags.fields) {
    await ctx.io.raw('\n')
    for (const entry of history)
      await ctx.io.marked('bold', entry.at, ` ${entry.kind.padEnd(12)} ${clean(textOf(entry))}`)
  }
  const last = history.at(-1)
  if (last && history.length >= limit)
    ctx.io.note(`These are the newest ${formatNumber(history.length)}. For older ones: --before ${last.at}`)
}

const textOf = ({ by, changes = {}, detail = {} }: Entry): string => {
  const { action, ...about } = detail
  const changed = Object.entries(changes).map(
    ([column, change]) => `${column}: ${valueIn(change, 'from')} → ${valueIn(change, 'to')}`,
  )
  const words = Object.entries(about).flatMap(([name, value]) =>
    value === null ? [] : `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
  )
  return [action, ...changed, ...words, by === null ? undefined : `by ${by}`]
    .filter((part) => part !== undefined)
    .join(', ')
}

const valueIn = (change: Readonly<Record<string, unknown>>, side: 'from' | 'to'): string =>
  change[side] === undefined ? '(not recorded)' : String(change[side] ?? '(none)')
