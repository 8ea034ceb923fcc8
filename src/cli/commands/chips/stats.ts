import { chipStates } from '../../../values/chip-states.ts'
import type { AnswerOf } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, team } from '../../command/options.ts'
import { addBars } from '../../io/bars.ts'
import type { Columns } from '../../io/lists.ts'
import { counted } from '../../io/text.ts'
import { groupFlag, readConditions, selectionFlags } from './select.ts'

type Stats = AnswerOf<'GET /admin/chips/stats'>
type State = Stats['states'][number]
type Group = Stats['groups'][number]

const units = ['state', 'group'] as const

const stateColumns: Columns<State> = { STATE: ({ state }) => state, CHIPS: ({ chips }) => chips }
const groupColumns: Columns<Group> = {
  'CHIP GROUP': ({ chipGroup }) => chipGroup,
  CHIPS: ({ chips }) => chips,
  ...Object.fromEntries(
    chipStates
      .filter((state) => state !== 'registered' && !state.startsWith('un'))
      .map((state) => [state.toUpperCase(), ({ states }: Group) => states?.[state] ?? null]),
  ),
  TEAM: (group) => group.team,
}

export const stats = defineCommand({
  name: 'stats',
  summary: 'Count chips by state: configured, linked, tapped, opened, disabled, simulated',
  description:
    'Count chips by state, or by chip group with their states. A chip is in each state that holds for it: configured (it has a ' +
    'token, an item, a redirect URL or an event), linked (to a token), tapped, opened (its seal), disabled, simulated.',
  examples: [
    'chips stats',
    'chips stats --chip-group Jackets',
    'chips stats --where item=jacket --where tappedSince=7d --json',
    'chips stats --by group',
  ],
  options: {
    by: choice('--by <unit>', 'What to count by; the default is state', units),
    ...groupFlag,
    ...selectionFlags,
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const conditions = readConditions(ctx, options)
    const query = { ...conditions, team: options.team, wait: 'true', limit: '1000' }
    const { chips, states, groups, more } = await ctx.call('GET /admin/chips/stats', { query })
    const none = conditions === undefined ? 'There are no chips yet.' : 'No chips match.'
    if (options.by === 'group') {
      await ctx.io.list(
        groups.filter((group) => group.chips > 0),
        groupColumns,
        none,
      )
      if (more > 0) ctx.io.note(`${counted(more, 'more group')} with fewer chips are not listed.`)
      return
    }
    await ctx.io.list(
      states,
      addBars(ctx, states, stateColumns, (row) => row.chips),
      none,
    )
    if (chips === 0) ctx.io.note(none)
  },
})
