import type { FastifyInstance } from 'fastify'
import { namedTeam } from '../../domain/access/teams.ts'
import {
  type BadgeEventRow,
  badgeClaims,
  badgeEventsNow,
  decideOnBadgeEvent,
} from '../../domain/badge-events/events.ts'
import { badgeStatus } from '../../domain/chips/badge-status.ts'
import { iso } from '../../domain/time/time.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

const defaultLimit = 100

export function adminBadgeEventRoutes(app: FastifyInstance, ctx: Context): void {
  const decided = (event: BadgeEventRow) => ({
    id: event.id,
    name: event.name,
    status: badgeStatus(event, iso(ctx.clock.now())),
  })
  bindAll(app, ctx, {
    'GET /admin/badge-events': async ({ query, teamId, keyTeam }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      const page = { teamId: team?.id, before: query.before, limit: query.limit ?? defaultLimit }
      return (await badgeEventsNow(ctx, page)).map((event) => ({
        ...pick(event, 'id', 'team', 'name', 'status', 'startDate', 'endDate', 'expiryDate'),
        ...pick(event, 'requestedCodes', 'maxPerRecipient', 'createdAt'),
        provider: event.poapEventId === null ? ('embedded' as const) : ('poap' as const),
        poapEventId: event.upstreamId,
        remainingCodesCount: event.remainingCodes,
      }))
    },
    'GET /admin/badge-events/:id/claims': async ({ params, query, actor }) => {
      const page = { before: query.before, limit: query.limit ?? defaultLimit }
      return (await badgeClaims(ctx, actor, params.id, page)).map((claim) => ({
        ...pick(claim, 'id', 'recipient', 'state', 'reason', 'transactionHash', 'createdAt', 'claimedAt'),
        uid: claim.chipUid,
        transaction: claim.transactionState,
      }))
    },
    'POST /admin/badge-events/:id/approve': async ({ params, actor }) =>
      decided(await decideOnBadgeEvent(ctx, actor, params.id, 'approved')),
    'POST /admin/badge-events/:id/reject': async ({ params, actor }) =>
      decided(await decideOnBadgeEvent(ctx, actor, params.id, 'rejected')),
  })
}
