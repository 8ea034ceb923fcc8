import type { FastifyInstance } from 'fastify'
import { describeOtp, removeOtp } from '../domain/codes/otps.ts'
import { bindAll } from '../http/bind.ts'
import type { Context } from '../process/context.ts'
import { pick, shownAddress, tokenOnWire } from './wire-shapes.ts'

export function otpRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /otps/:id': async ({ params }) => {
      const { otp, isExpired, token, badgeEvent, guestbookEvent } = await describeOtp(ctx, params.id)
      return {
        otp: params.id,
        uid: otp.chipUid,
        isExpired,
        ...pick(otp, 'expiresAt', 'createdAt', 'type'),
        ...(token ? { linkedToken: tokenOnWire(token) } : {}),
        ...(badgeEvent
          ? {
              badgeEvent: {
                id: badgeEvent.id,
                poapEventId: badgeEvent.upstreamId,
                status: badgeEvent.status,
              },
            }
          : {}),
        ...(guestbookEvent
          ? {
              guestbookEvent: {
                ...pick(guestbookEvent, 'id', 'name', 'chainId', 'tokenId', 'createdAt'),
                contractAddress: shownAddress(guestbookEvent),
              },
            }
          : {}),
      }
    },
    'DELETE /otps/:id': async ({ params, teamId, actor }) => {
      await removeOtp(ctx, { id: teamId, actor }, params.id)
      return { success: true as const }
    },
  })
}
