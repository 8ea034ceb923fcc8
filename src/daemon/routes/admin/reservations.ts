import type { FastifyInstance } from 'fastify'
import { namedTeam, teamNames } from '../../domain/access/teams.ts'
import { listReservations, releaseReservation } from '../../domain/reservations/admin.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

const defaultLimit = 100

export function reservationRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /admin/reservations': async ({ query, teamId, keyTeam }) => {
      const { team: name, limit = defaultLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, teamId, keyTeam })
      const names = await teamNames(ctx)
      return (await listReservations(ctx, { ...filter, limit, teamId: team?.id })).map((kept) => ({
        ...pick(kept, 'id', 'uid', 'claim', 'left', 'mail', 'keptAt', 'endsAt'),
        team: names.get(kept.teamId) ?? '',
      }))
    },
    'DELETE /admin/reservations/:id': async ({ params, actor }) => {
      await releaseReservation(ctx, actor, params.id)
      return { success: true as const }
    },
  })
}
