import type { FastifyInstance } from 'fastify'
import { chipsOf, getItem, listItems } from '../domain/chips/items.ts'
import { bindAll } from '../http/bind.ts'
import { mapped, sendJsonArray } from '../http/streams.ts'
import type { Context } from '../process/context.ts'
import { itemToWire, tokenOnWire } from './wire-shapes.ts'

export function itemRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /items': async ({ query, teamId, reply }) =>
      sendJsonArray(reply, mapped(listItems(ctx, teamId, query), itemToWire)),
    'GET /items/:itemId': async ({ params, teamId }) => itemToWire(await getItem(ctx, teamId, params.itemId)),
    'GET /items/:itemId/chips': async ({ params, teamId, reply }) =>
      sendJsonArray(
        reply,
        mapped(await chipsOf(ctx, teamId, params.itemId), ({ uid, token }) => ({
          uid,
          ...(token ? { linkedToken: tokenOnWire(token) } : {}),
        })),
      ),
  })
}
