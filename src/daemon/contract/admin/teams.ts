import * as z from 'zod'
import { parseColor } from '../../../values/contrast.ts'
import { adminEndpoint } from '../endpoint.ts'
import { integer, name, publicUrl, success, timestamp } from '../fields.ts'

/** Daily limits (UTC) by count and gas. Null: the default; the embedded chain has no limit. */
export const budget = () =>
  z.object({
    transactionsPerDay: z.number().nullable(),
    gasPerDay: z.number().nullable(),
    transactionsToday: z.number(),
    gasToday: z.number(),
    /** Tokens with changed metadata that will be announced when the budget allows. */
    waiting: z.number(),
  })
/** The look of tap pages. Null: the page's own. Colours: `#rrggbb`. */
const brand = z.object({
  name: z.string().nullable(),
  color: z.string().nullable(),
  background: z.string().nullable(),
  logoUrl: z.string().nullable(),
})
const teamOnWire = () =>
  z.object({
    id: z.number(),
    name: z.string(),
    createdAt: timestamp,
    budget: budget(),
    brand,
    /** Each chip has a page at /p, which everyone who has its address can see. */
    publicPages: z.boolean(),
  })

const color = z.string().transform((written, ctx) => {
  const parsed = parseColor(written)
  if (parsed !== undefined) return parsed
  ctx.addIssue({ code: 'custom', message: 'must be a colour such as #0b6b4f or #0b7' })
  return z.NEVER
})

/** Colours: `#rgb` or `#rrggbb`. Fields that are absent stay as they are, and null ones become the page's own. */
export const brandFields = {
  name: name(80).nullable().optional(),
  color: color.nullable().optional(),
  background: color.nullable().optional(),
  logoUrl: publicUrl.nullable().optional(),
}

const limit = integer(0, 1_000_000_000_000_000).nullable().optional()

export const teams = {
  'GET /admin/teams': adminEndpoint({
    id: 'listTeams',
    summary: 'List the teams',
    scope: 'read',
    response: () => z.array(teamOnWire()),
  }),
  'POST /admin/teams': adminEndpoint({
    isForAllTeams: true,
    id: 'createTeam',
    summary: 'Create a team',
    scope: 'all',
    body: () => z.object({ name: name() }),
    response: teamOnWire,
  }),
  'PATCH /admin/teams/:id': adminEndpoint({
    id: 'editTeam',
    summary:
      "Set a team's daily limits for transactions and gas, the look of its tap pages, and whether its pieces have public pages; null: the default",
    description:
      'Changing the limits requires the scope `all`, since they bind everyone with a lesser one. Changing anything else requires `edit`. A brand colour ' +
      'that cannot be seen on the background is refused with the nearest one that can.',
    scope: 'edit',
    params: () => z.object({ id: integer(1) }),
    body: () =>
      z.object({
        transactionsPerDay: limit,
        gasPerDay: limit,
        brand: z.object(brandFields).optional(),
        publicPages: z.boolean().optional(),
      }),
    response: teamOnWire,
  }),
  'DELETE /admin/teams/:id': adminEndpoint({
    isForAllTeams: true,
    id: 'deleteTeam',
    summary: 'Remove an empty team',
    scope: 'edit',
    params: () => z.object({ id: integer(1) }),
    response: success,
  }),
} as const
