import { defineCommand } from '../command/define.ts'
import { argument, team, text, yes } from '../command/options.ts'
import { bothForms } from '../uid.ts'
import { chipOnWire } from './chip-handle.ts'
import { readId } from './named.ts'
import { fetchPage, pageFlags } from './paging.ts'

const list = defineCommand({
  name: 'list',
  summary: 'List what tap pages keep for people by e-mail, newest first',
  description:
    'List what tap pages keep for people by e-mail, newest first. Their addresses are shown to nobody.',
  examples: ['reservations list', 'reservations list --uid 04:98:93:CA:AA:11:90 --json'],
  options: {
    uid: text('--uid <uid>', 'Only of this chip, by its UID or label'),
    ...pageFlags('reservation'),
    team,
  },
  run: async (ctx, { options }) => {
    const uid = options.uid === undefined ? undefined : await chipOnWire(ctx, options.uid)
    const query = { uid, team: options.team, before: options.before }
    const { page, hintNextPage } = await fetchPage(ctx, options.limit, (limit) =>
      ctx.call('GET /admin/reservations', { query: { ...query, limit } }),
    )
    await ctx.io.list(
      page,
      {
        ID: (kept) => kept.id,
        CHIP: (kept) => bothForms(kept.uid),
        CLAIM: (kept) => (kept.claim ? 'kept' : '-'),
        LEFT: (kept) => kept.left,
        MAIL: (kept) => kept.mail,
        KEPT: (kept) => kept.keptAt,
        UNTIL: (kept) => kept.endsAt,
        TEAM: (kept) => kept.team,
      },
      'Nothing is kept for anybody.',
    )
    hintNextPage()
  },
})

const release = defineCommand({
  name: 'release',
  summary: 'Release what is kept for somebody by e-mail, so that others can claim it',
  description:
    'Release what is kept for somebody by e-mail, so that others can claim it: the link that was mailed ends at once, and ' +
    'the address is forgotten. Nobody is told by mail.',
  examples: ['reservations release 4711', 'reservations release 4711 --yes'],
  args: { id: argument('id', 'Its id (reservations list)') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = readId(args.id, { noun: 'reservation', list: 'reservations list' })
    await ctx.prompts.confirm(
      options.yes,
      `Release reservation ${id}? Whoever it is kept for has to tap again.`,
    )
    await ctx.io.one(await ctx.call('DELETE /admin/reservations/:id', { params: { id } }), () => ({
      Released: id,
    }))
    ctx.io.hint('See what else is kept: tapchip reservations list')
  },
})

export const verbs = [list, release]
