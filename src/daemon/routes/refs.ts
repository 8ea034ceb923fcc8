import type { FastifyInstance } from 'fastify'
import { assertRef, queryRef } from '../domain/taps/refs.ts'
import { bindAll } from '../http/bind.ts'
import type { Context } from '../process/context.ts'
import { marketplaceMetadata, shownAddress, tokenOnWire } from './wire-shapes.ts'

export function refRoutes(app: FastifyInstance, ctx: Context): void {
  bindAll(app, ctx, {
    'GET /refs/:id': async ({ params, query, keyTeam, request, reply }) => {
      if (request.method === 'HEAD') {
        await assertRef(ctx, params.id)
        return reply.send()
      }
      const ref = await queryRef(ctx, {
        id: params.id,
        team: keyTeam,
        includeOwner: query.includeOwner ?? false,
        includeMetadata: query.includeMetadata ?? false,
      })
      const { token } = ref
      return {
        uid: ref.uid,
        isValidRef: ref.isValidRef,
        ...(ref.unmintedOtp ? { otp: ref.unmintedOtp } : {}),
        ...(token
          ? {
              linkedToken: {
                ...tokenOnWire(token),
                ...(token.otp ? { otp: token.otp } : {}),
                ...(token.owner ? { ownerAddress: token.owner } : {}),
                ...(token.metadata ? { metadata: marketplaceMetadata(token.metadata) } : {}),
              },
            }
          : {}),
        badgeEvents: ref.badgeEvents.map(({ id, upstreamId, status, otp }) => ({
          id,
          poapEventId: upstreamId,
          status,
          ...(otp ? { otp } : {}),
        })),
        guestbookEvents: ref.guestbookEvents.map(({ event, otp }) => ({
          contractAddress: shownAddress(event),
          chainId: event.chainId,
          tokenId: event.tokenId,
          ...(otp ? { otp } : {}),
        })),
      }
    },
  })
}
