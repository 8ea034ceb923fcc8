import * as z from 'zod'
import { endpoint } from '../endpoint.ts'
import { integer, name, success, team, text, timestamp } from '../fields.ts'

const linkOnWire = z.object({
  id: z.number(),
  team: z.string(),
  label: z.string(),
  baseUrl: z.string(),
  createdAt: timestamp,
})

export const links = {
  'GET /admin/links': endpoint({
    part: 'admin',
    summary: "List a team's third-party links, which stand on its tap page",
    auth: 'admin',
    scope: 'read',
    query: z.object(team),
    response: z.array(linkOnWire),
  }),
  'POST /admin/links': endpoint({
    part: 'admin',
    summary: 'Register a third-party link',
    auth: 'admin',
    scope: 'edit',
    body: z.object({ ...team, label: name(100), baseUrl: text(4096) }),
    response: linkOnWire,
  }),
  'DELETE /admin/links/:id': endpoint({
    part: 'admin',
    summary: 'Remove a third-party link',
    auth: 'admin',
    scope: 'edit',
    params: z.object({ id: integer(1) }),
    response: success,
  }),
} as const
