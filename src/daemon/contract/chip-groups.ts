import * as z from 'zod'
import { keyEndpoint } from './endpoint.ts'
import { timestamp } from './fields.ts'

export const chipGroupOnWire = () => z.object({ id: z.number(), name: z.string(), createdAt: timestamp })

export const chipGroups = {
  'GET /chip-groups': keyEndpoint({
    id: 'listChipGroups',
    summary: "List the team's chip groups",
    scope: 'read',
    response: () => z.array(chipGroupOnWire()),
  }),
} as const
