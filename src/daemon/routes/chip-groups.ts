import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { bindAll } from '../http/bind.ts'
import { chipGroupsOfTeam } from '../store/chip-groups.ts'

export function chipGroupRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /chip-groups': async ({ teamId }) => {
      const groups = await chipGroupsOfTeam(ctx.db.read, teamId)
      return groups.map(({ id, name, createdAt }) => ({ id, name, createdAt }))
    },
  })
}
