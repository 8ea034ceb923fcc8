import type { FastifyInstance } from 'fastify'
import { createTeam, editTeam, listTeams, removeTeam, showTeam } from '../../domain/access/teams.ts'
import { announceDeferred } from '../../domain/chain/announcements.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'

export function teamRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/teams': async ({ teamId }) => listTeams(ctx, teamId),
    'POST /admin/teams': async ({ body, actor }) => createTeam(ctx, actor, body.name),
    'PATCH /admin/teams/:id': async ({ params, body, actor, holder }) => {
      await editTeam(ctx, { actor, holder }, params.id, body)
      // Postponed announcements may fit now.
      await announceDeferred(ctx)
      return showTeam(ctx, params.id)
    },
    'DELETE /admin/teams/:id': async ({ params, actor }) => {
      await removeTeam(ctx, actor, params.id)
      return { success: true as const }
    },
  })
}
