import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import { listChanges } from '../../domain/audit.ts'
import { namedTeam } from '../../domain/teams.ts'
import { bindAll } from '../../http/bind.ts'

const usualLimit = 100

export function auditRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/audit': async ({ query, keyTeam }) => {
      const { team: name, limit = usualLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, keyTeam })
      const changes = await listChanges(ctx, { ...filter, limit, teamId: team?.id })
      return changes.map(({ id, at, actor, team, action, target, detail, requestId }) => ({
        id,
        at,
        actor,
        team,
        action,
        target,
        detail,
        requestId,
      }))
    },
  })
}
