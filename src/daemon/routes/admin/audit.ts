import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import { namedTeam } from '../../domain/access/teams.ts'
import { listChanges } from '../../domain/audit.ts'
import { bindAll } from '../../http/bind.ts'
import { mapped, sendJsonArray } from '../../http/streams.ts'
import { pick } from '../wire-shapes.ts'

const usualLimit = 100

export function auditRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/audit': async ({ query, keyTeam, reply }) => {
      const { team: name, limit = usualLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, keyTeam })
      const changes = listChanges(ctx, { ...filter, limit, teamId: team?.id })
      const lines = mapped(changes, (change) =>
        pick(change, 'id', 'at', 'actor', 'team', 'action', 'target', 'detail', 'requestId', 'batch'),
      )
      return sendJsonArray(reply, lines)
    },
  })
}
