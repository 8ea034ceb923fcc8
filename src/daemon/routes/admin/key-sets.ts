import type { FastifyInstance } from 'fastify'
import { createKeySet, listKeySets, removeKeySet } from '../../domain/chips/key-sets.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'

export function keySetRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/key-sets': async ({ actor }) => listKeySets(ctx, actor),
    'POST /admin/key-sets': async ({ body, actor }) => createKeySet(ctx, actor, body),
    'DELETE /admin/key-sets/:id': async ({ params, actor }) => {
      await removeKeySet(ctx, actor, params.id)
      return { success: true as const }
    },
  })
}
