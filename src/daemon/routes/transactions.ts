import type { FastifyInstance } from 'fastify'
import { followTransaction } from '../domain/chain/transactions.ts'
import { bindAll } from '../http/bind.ts'
import type { Context } from '../process/context.ts'

export function publicTransactionRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /transactions/:hash': ({ params, keyTeam }) => followTransaction(ctx, params.hash, keyTeam),
  })
}
