import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { timestamp } from './fields.ts'

export const chipGroupOnWire = z.object({ id: z.number(), name: z.string(), createdAt: timestamp })

export const chipGroups = {
  'GET /chip-groups': endpoint({
    part: 'interface',
    summary: "List the team's chip groups",
    auth: 'api-key',
    scope: 'read',
    response: z.array(chipGroupOnWire),
  }),
} as const
