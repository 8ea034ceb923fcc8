import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import { createTeam, listTeams, removeTeam } from '../../domain/teams.ts'
import { bindAll } from '../../http/bind.ts'

export function teamRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/teams': async () => listTeams(ctx),
    'POST /admin/teams': async ({ body, actor }) => createTeam(ctx, actor, body.name),
    'DELETE /admin/teams/:id': async ({ params, actor }) => {
      await removeTeam(ctx, actor, params.id)
      return { success: true as const }
    },
  })
}
