import { defineCommand } from '../../command/define.ts'
import { moment } from '../../command/moment.ts'
import { choice, integer, team, text } from '../../command/options.ts'
import { readUid, uidOnWire } from '../../uid.ts'
import { tapColumns } from './columns.ts'

const outcomes = [
  'valid',
  'refused',
  'replayed',
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
    uid: text('--uid <uid>', 'Of one chip'),
    outcome: choice('--outcome <outcome>', 'Of one outcome', outcomes),
    since: moment('--since <when>', 'From then on', 'ago'),
    limit: integer('--limit <n>', 'At most so many', [1, 1000]),
    before: integer('--before <id>', 'Older than this tap: the next page', [1, Number.MAX_SAFE_INTEGER]),
    team,
  },
  run: async (ctx, { options }) => {
    const { uid, since, ...filter } = options
    const query = {
      ...filter,
      since: since?.(ctx.now()),
      uid: uid === undefined ? undefined : uidOnWire(readUid(uid, '--uid')),
    }
    const taps = await ctx.call('GET /admin/taps', { query })
    await ctx.io.list(taps, tapColumns, 'No taps.')
  },
})
