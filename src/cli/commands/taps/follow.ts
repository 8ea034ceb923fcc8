import { defineCommand } from '../../command/define.ts'
import { integer, team, text } from '../../command/options.ts'
import { shown } from '../../io/text.ts'
import { chipOnWire } from '../chip-handle.ts'
import { tapColumns } from './list.ts'

export const follow = defineCommand({
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
    let left = options.count ?? Number.POSITIVE_INFINITY
    for await (const tap of taps) {
      await ctx.io.line(tap, () =>
        Object.values(tapColumns)
          .map((read) => shown(read(tap)))
          .join('\t'),
      )
      left -= 1
      if (left <= 0) break
    }
    ended.abort()
  },
})
