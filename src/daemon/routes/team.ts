import type { FastifyInstance } from 'fastify'
import { getTeam } from '../domain/access/teams.ts'
import { auditHead } from '../domain/audit/audit.ts'
import { bindAll } from '../http/bind.ts'
import type { Context } from '../process/context.ts'
import { pick } from './wire-shapes.ts'

export function teamRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /team': async ({ teamId }) => ({
      ...pick(await getTeam(ctx, teamId), 'id', 'name'),
      auditHead: (await auditHead(ctx)).hash,
    }),
  })
}
