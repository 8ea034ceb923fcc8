import type { FastifyInstance } from 'fastify'
import { namedTeam } from '../../domain/access/teams.ts'
import { eventRates } from '../../domain/badge-events/event-rates.ts'
import { listGuestbooks } from '../../domain/guestbook/list.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

const defaultLimit = 100

export function eventRateRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/events/rates': async ({ query, teamId, keyTeam }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      return { ...(await eventRates(ctx, team?.id)) }
    },
    'GET /admin/guestbooks': async ({ query, teamId, keyTeam }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      const page = { teamId: team?.id, before: query.before, limit: query.limit ?? defaultLimit }
      return (await listGuestbooks(ctx, page)).map((event) => ({
        ...pick(event, 'id', 'team', 'name', 'tokenId', 'contractId', 'contractName', 'chainId', 'createdAt'),
        status: event.contractStatus,
        problem: event.contractProblem,
        // Until the contract is mined, whoever is faster could have it.
        contractAddress: event.contractStatus === 'confirmed' ? event.address : null,
      }))
    },
  })
}
