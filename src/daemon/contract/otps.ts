import * as z from 'zod'
import { endpoint, keyEndpoint } from './endpoint.ts'
import { badgeStatus, code21, success, timestamp, tokenRef } from './fields.ts'

export const otps = {
  'GET /otps/:id': endpoint({
    id: 'getOtp',
    part: 'interface',
    summary: 'Fetch an OTP',
    auth: 'none',
    description: 'Uses nothing up. `createdAt` is the time of the tap, so that a server can refuse old ones.',
    scope: 'read',
    noStore: true,
    params: () => z.object({ id: code21 }),
    response: () =>
      z.object({
        otp: z.string(),
        uid: z.string(),
        isExpired: z.boolean(),
        expiresAt: timestamp,
        createdAt: timestamp,
        type: z.enum(['PHYGITAL_CLAIM', 'POAP_EVENT', 'GUESTBOOK_EVENT']),
        linkedToken: tokenRef().optional(),
        badgeEvent: z
          .object({
            id: z.number(),
            poapEventId: z.number(),
            status: badgeStatus(),
          })
          .optional(),
        guestbookEvent: z
          .object({
            id: z.number(),
            name: z.string(),
            contractAddress: z.string().nullable(),
            chainId: z.number(),
            tokenId: z.string(),
            createdAt: timestamp,
          })
          .optional(),
      }),
  }),
  'DELETE /otps/:id': keyEndpoint({
    id: 'deleteOtp',
    summary: 'Delete an OTP, so that nobody can use it',
    scope: 'edit',
    params: () => z.object({ id: code21 }),
    response: success,
  }),
} as const
