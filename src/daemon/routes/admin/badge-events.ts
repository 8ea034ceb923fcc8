import type { FastifyInstance } from 'fastify'
import type { Context } from '../../context.ts'
import { namedTeam } from '../../domain/access/teams.ts'
import {
  type BadgeEventRow,
  badgeClaims,
  badgeEventsNow,
  decideOnBadgeEvent,
} from '../../domain/badge-events/events.ts'
import { badgeStatus } from '../../domain/badge-status.ts'
import { iso } from '../../domain/time.ts'
import { bindAll } from '../../http/bind.ts'

const usualPage = 100

export function adminBadgeEventRoutes(app: FastifyInstance, ctx: Context): void {
  const decided = (event: BadgeEventRow) => ({
    id: event.id,
    name: event.name,
    status: badgeStatus(event, iso(ctx.clock.now())),
  })
  bindAll(app, ctx, {
    'GET /admin/badge-events': async ({ query, keyTeam }) => {
      const team = await namedTeam(ctx, { name: query.team, keyTeam })
      const page = { teamId: team?.id, before: query.before, limit: query.limit ?? usualPage }
      return (await badgeEventsNow(ctx, page)).map((event) => ({
        id: event.id,
        team: event.team,
        name: event.name,
        provider: event.poapEventId === null ? ('embedded' as const) : ('poap' as const),
        poapEventId: event.upstreamId,
        status: event.status,
        startDate: event.startDate,
        endDate: event.endDate,
        expiryDate: event.expiryDate,
        requestedCodes: event.requestedCodes,
        remainingCodesCount: event.remainingCodes,
        createdAt: event.createdAt,
      }))
    },
    'GET /admin/badge-events/:id/claims': async ({ params, query }) => {
      const page = { before: query.before, limit: query.limit ?? usualPage }
      return (await badgeClaims(ctx, params.id, page)).map((claim) => ({
        id: claim.id,
        recipient: claim.recipient,
        uid: claim.chipUid,
        state: claim.state,
        reason: claim.reason,
        transaction: claim.transactionState,
        transactionHash: claim.transactionHash,
        createdAt: claim.createdAt,
        claimedAt: claim.claimedAt,
      }))
    },
    'POST /admin/badge-events/:id/approve': async ({ params, actor }) =>
      decided(await decideOnBadgeEvent(ctx, actor, params.id, 'approved')),
    'POST /admin/badge-events/:id/reject': async ({ params, actor }) =>
      decided(await decideOnBadgeEvent(ctx, actor, params.id, 'rejected')),
  })
}
