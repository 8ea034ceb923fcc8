import type { FastifyInstance } from 'fastify'
import { namedTeam } from '../../domain/access/teams.ts'
import { auditHead, exportAudit, listChanges, verifyAudit } from '../../domain/audit/audit.ts'
import { bindAll } from '../../http/bind.ts'
import { mapped, sendJsonArray, sendLines } from '../../http/streams.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

const defaultLimit = 100

export function auditRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/audit': async ({ query, teamId, keyTeam, reply }) => {
      const { team: name, limit = defaultLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, teamId, keyTeam })
      const changes = listChanges(ctx, { ...filter, limit, teamId: team?.id })
      const lines = mapped(changes, (change) =>
        pick(change, 'id', 'at', 'actor', 'team', 'action', 'target', 'detail', 'requestId', 'batch'),
      )
      return sendJsonArray(reply, lines)
    },
    'GET /admin/audit/head': async () => {
      const { entries, hash } = await auditHead(ctx)
      return { entries, head: hash }
    },
    'GET /admin/audit/verify': async ({ query, reply }) => sendLines(reply, verifyAudit(ctx, query.expect)),
    'GET /admin/audit/export': async ({ query, reply }) => sendLines(reply, exportAudit(ctx, query.since)),
  })
}
