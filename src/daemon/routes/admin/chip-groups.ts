import type { FastifyInstance } from 'fastify'
import { getTeam, resolveTeam } from '../../domain/access/teams.ts'
import {
  type ChipGroupRow,
  createChipGroup,
  editChipGroup,
  listChipGroups,
  removeChipGroup,
} from '../../domain/chips/chip-groups.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

export function adminChipGroupRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/chip-groups': async ({ query, teamId, keyTeam }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      return (await listChipGroups(ctx, team.id)).map((group) => toWire(group, team.name))
    },
    'POST /admin/chip-groups': async ({ body, teamId, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      return toWire(await createChipGroup(ctx, { teamId: team.id, actor }, body.name), team.name)
    },
    'PATCH /admin/chip-groups/:id': async ({ params, body, actor }) => {
      const group = await editChipGroup(ctx, actor, { id: params.id, name: body.name })
      return toWire(group, (await getTeam(ctx, group.teamId)).name)
    },
    'DELETE /admin/chip-groups/:id': async ({ params, actor }) => {
      await removeChipGroup(ctx, actor, params.id)
      return { success: true as const }
    },
  })
}

const toWire = (group: ChipGroupRow, team: string) => ({
  ...pick(group, 'id', 'name', 'createdAt', 'chips'),
  team,
})
