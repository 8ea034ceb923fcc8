import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { integer, name, success, team, text, timestamp } from '../fields.ts'

const linkOnWire = () =>
  z.object({
    id: z.number(),
    team: z.string(),
    label: z.string(),
    baseUrl: z.string(),
    createdAt: timestamp,
  })

export const links = {
  'GET /admin/links': adminEndpoint({
    id: 'listLinks',
    summary: "List the third-party links on a team's tap page",
    scope: 'read',
    query: () => z.object(team),
    response: () => z.array(linkOnWire()),
  }),
  'POST /admin/links': adminEndpoint({
    id: 'createLink',
    summary: 'Register a third-party link',
    scope: 'edit',
    body: () => z.object({ ...team, label: name(100), baseUrl: text(4096) }),
    response: linkOnWire,
  }),
  'DELETE /admin/links/:id': adminEndpoint({
    id: 'deleteLink',
    summary: 'Remove a third-party link',
    scope: 'edit',
    params: () => z.object({ id: integer(1) }),
    response: success,
  }),
} as const
