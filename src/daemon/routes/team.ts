import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { getTeam } from '../domain/access/teams.ts'
import { auditHead } from '../domain/audit.ts'
import { bindAll } from '../http/bind.ts'
import { pick } from './wire-shapes.ts'

export function teamRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /team': async ({ teamId }) => ({
      ...pick(await getTeam(ctx, teamId), 'id', 'name'),
      auditHead: (await auditHead(ctx)).hash,
    }),
  })
}
