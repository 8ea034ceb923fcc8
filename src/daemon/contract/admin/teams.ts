import * as z from 'zod'
import { endpoint } from '../endpoint.ts'
import { integer, name, success, timestamp } from '../fields.ts'

const teamOnWire = z.object({ id: z.number(), name: z.string(), createdAt: timestamp })

export const teams = {
  'GET /admin/teams': endpoint({
    part: 'admin',
    summary: 'List the teams',
    auth: 'admin',
    scope: 'read',
    response: z.array(teamOnWire),
  }),
  'POST /admin/teams': endpoint({
    part: 'admin',
    summary: 'Create a team',
    auth: 'admin',
    scope: 'edit',
    body: z.object({ name: name() }),
    response: teamOnWire,
  }),
  'DELETE /admin/teams/:id': endpoint({
    part: 'admin',
    summary: 'Remove a team that holds nothing any more',
    auth: 'admin',
    scope: 'edit',
    params: z.object({ id: integer(1) }),
    response: success,
  }),
} as const
