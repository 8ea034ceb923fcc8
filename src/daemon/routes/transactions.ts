import type { FastifyInstance } from 'fastify'
import type { Context } from '../context.ts'
import { followTransaction } from '../domain/chain/transactions.ts'
import { bindAll } from '../http/bind.ts'

export function publicTransactionRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /transactions/:hash': ({ params, keyTeam }) => followTransaction(ctx, params.hash, keyTeam),
  })
}
