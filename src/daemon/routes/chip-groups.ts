import type { FastifyInstance } from 'fastify'
import { listChipGroups } from '../domain/chips/chip-groups.ts'
import { bindAll } from '../http/bind.ts'
import type { Context } from '../process/context.ts'
import { pick } from './wire-shapes.ts'

export function chipGroupRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /chip-groups': async ({ teamId }) => {
      const groups = await listChipGroups(ctx, teamId)
      return groups.map((group) => pick(group, 'id', 'name', 'createdAt'))
    },
  })
}
