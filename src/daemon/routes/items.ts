import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { chipsOf, getItem, listItems } from '../domain/items.ts'
import { bindAll } from '../http/bind.ts'
import { itemToWire, tokenOnWire } from './wire-shapes.ts'

export function itemRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /items': async ({ query, teamId }) => (await listItems(ctx, teamId, query)).map(itemToWire),
    'GET /items/:itemId': async ({ params, teamId }) => itemToWire(await getItem(ctx, teamId, params.itemId)),
    'GET /items/:itemId/chips': async ({ params, teamId }) =>
      (await chipsOf(ctx, teamId, params.itemId)).map(({ uid, token }) => ({
        uid,
        ...(token ? { linkedToken: tokenOnWire(token) } : {}),
      })),
  })
}
