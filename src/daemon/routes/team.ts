import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { getTeam } from '../domain/access/teams.ts'
import { bindAll } from '../http/bind.ts'

export function teamRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /team': async ({ teamId }) => {
      const { id, name } = await getTeam(ctx, teamId)
      return { id, name }
    },
  })
}
