import type { FastifyInstance } from 'fastify'
import { resolveTeam } from '../../domain/access/teams.ts'
import { createItem, editItem, removeItem } from '../../domain/chips/item-edits.ts'
import { listItems } from '../../domain/chips/items.ts'
import { bindAll } from '../../http/bind.ts'
import { mapped, sendJsonArray } from '../../http/streams.ts'
import type { Context } from '../../process/context.ts'
import { itemToWire } from '../wire-shapes.ts'

export function adminItemRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/items': async ({ query, teamId, keyTeam, reply }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      return sendJsonArray(reply, mapped(listItems(ctx, team.id, {}), itemToWire))
    },
    'POST /admin/items': async ({ body, teamId, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      return itemToWire(await createItem(ctx, { teamId: team.id, actor }, body))
    },
    'PATCH /admin/items/:id': async ({ params, body, teamId, keyTeam, actor, holder }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      return itemToWire(
        await editItem(ctx, { teamId: team.id, actor, holder }, params.id, body, body.expected),
      )
    },
    'DELETE /admin/items/:id': async ({ params, query, teamId, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      await removeItem(ctx, { teamId: team.id, actor }, params.id)
      return { success: true as const }
    },
  })
}
