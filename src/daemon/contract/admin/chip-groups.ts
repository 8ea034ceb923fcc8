import * as z from 'zod'
import { chipGroupOnWire } from '../chip-groups.ts'
import { adminEndpoint } from '../endpoint.ts'
import { integer, name, success, team } from '../fields.ts'

const groupForAdmin = () => chipGroupOnWire().extend({ team: z.string(), chips: z.number() })

export const adminChipGroups = {
  'GET /admin/chip-groups': adminEndpoint({
    id: 'adminListChipGroups',
    summary: "List a team's chip groups with their number of chips",
    scope: 'read',
    query: () => z.object(team),
    response: () => z.array(groupForAdmin()),
  }),
  'POST /admin/chip-groups': adminEndpoint({
    id: 'createChipGroup',
    summary: 'Create a chip group',
    scope: 'edit',
    body: () => z.object({ ...team, name: name() }),
    response: groupForAdmin,
  }),
  'PATCH /admin/chip-groups/:id': adminEndpoint({
    id: 'editChipGroup',
    summary: 'Rename a chip group',
    scope: 'edit',
    params: () => z.object({ id: integer(1) }),
    body: () => z.object({ name: name() }),
    response: groupForAdmin,
  }),
  'DELETE /admin/chip-groups/:id': adminEndpoint({
    id: 'deleteChipGroup',
    summary: 'Remove an empty chip group',
    scope: 'edit',
    params: () => z.object({ id: integer(1) }),
    response: success,
  }),
} as const
