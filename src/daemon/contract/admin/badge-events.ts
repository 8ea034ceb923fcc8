import * as z from 'zod'
import { adminEndpoint } from '../endpoint.ts'
import { badgeStatus, integer, page, team, timestamp } from '../fields.ts'

const badgeEvent = () =>
  z.object({
    id: z.number(),
    team: z.string(),
    name: z.string(),
    provider: z.enum(['embedded', 'poap']),
    poapEventId: z.number(),
    status: badgeStatus(),
    startDate: z.string(),
    endDate: z.string(),
    expiryDate: z.string(),
    requestedCodes: z.number(),
    remainingCodesCount: z.number(),
    /** Badges of the event that one recipient may have. */
    maxPerRecipient: z.number(),
    createdAt: timestamp,
  })

const claim = () =>
  z.object({
    id: z.number(),
    recipient: z.string(),
    uid: z.string(),
    /** `open`: the provider has not confirmed the claim yet. */
    state: z.enum(['open', 'claimed']),
    reason: z.string().nullable(),
    /** Set only for claims at POAP by address or ENS name. */
    transaction: z.enum(['pending', 'mined', 'failed']).nullable(),
    transactionHash: z.string().nullable(),
    createdAt: timestamp,
    claimedAt: timestamp.nullable(),
  })

const params = () => z.object({ id: integer(1) })
const decided = () => z.object({ id: z.number(), name: z.string(), status: badgeStatus() })

export const adminBadgeEvents = {
  'GET /admin/badge-events': adminEndpoint({
    id: 'listBadgeEvents',
    summary: 'List badge events with their status and remaining codes, newest first',
    scope: 'read',
    query: () => z.object({ ...team, ...page }),
    response: () => z.array(badgeEvent()),
  }),
  'GET /admin/badge-events/:id/claims': adminEndpoint({
    id: 'listBadgeClaims',
    summary: 'List the claims of a badge event, newest first',
    scope: 'read',
    params,
    query: () => z.object(page),
    response: () => z.array(claim()),
  }),
  'POST /admin/badge-events/:id/approve': adminEndpoint({
    id: 'approveBadgeEvent',
    summary: 'Approve a badge event of the embedded provider, which gives it its codes',
    scope: 'edit',
    params,
    response: decided,
  }),
  'POST /admin/badge-events/:id/reject': adminEndpoint({
    id: 'rejectBadgeEvent',
    summary: 'Reject a badge event of the embedded provider, so that it gives no badges',
    scope: 'edit',
    params,
    response: decided,
  }),
} as const
