import type { ElementOf } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, moment, team, text } from '../../command/options.ts'
import type { Columns } from '../../io/table.ts'
import { colons } from '../../uid.ts'
import { chipOnWire } from '../chip-handle.ts'
import { fetchPage, pageFlags } from '../paging.ts'

export const tapColumns: Columns<ElementOf<'GET /admin/taps'>> = {
  AT: (tap) => tap.at,
  OUTCOME: (tap) => tap.outcome,
  UID: (tap) => tap.uid,
  HEX: (tap) => colons(tap.uid),
  COUNTER: (tap) => tap.counter,
  'KEY SET': (tap) => tap.keySet,
  VIA: (tap) => tap.via,
  TEAM: (tap) => tap.team,
  SEAL: (tap) => tap.tamper,
}

export const outcomes = [
  'valid',
  'refused',
  'replayed',
  'caught-up',
  'wrong-mac',
  'disabled',
  'unknown-chip',
  'unknown-key-set',
] as const

export const list = defineCommand({
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
    const { uid, since, limit, csv: _, ...filter } = options
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
